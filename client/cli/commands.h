// The tool `remora` as a function, and the programs that one binary may contain besides it.
#pragma once

#include <span>

namespace remora::cli {

/// A program inside the binary: `remora NAME ARGUMENTS...` runs it, and so does calling the binary
/// by `file_name` (through a link, say).
struct Program {
  const char* name;
  const char* file_name;
  const char* description;             // one line of `remora --help`
  int (*main)(int argc, char** argv);  // argv[0] is the name it was called by
};

/// `remora` with these arguments; returns its exit code. One call per process.
int remora_main(int argc, char** argv, std::span<const Program> programs = {});

}  // namespace remora::cli
