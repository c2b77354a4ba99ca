#include "client/cli/standard_output.h"

#include <cstdio>

namespace remora::cli {

bool is_stdout_written() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace remora::cli
