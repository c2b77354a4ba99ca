// The project's own C++ files as the tree tests see them: paths from the root of the checkout, and
// text.
#pragma once

#include <string>
#include <vector>

namespace remora::tree {

struct SourceFile {
  std::string path;  // "dispatch/op.h"
  std::string text;
};

/// Every C++ file (headers, sources, .def tables, device code) below the root of the checkout,
/// sorted by path. Build output, hidden folders and test data are left out. Throws if the root
/// cannot be read.
std::vector<SourceFile> source_files();

/// The lines of `text`, without their ends.
std::vector<std::string> lines_of(const std::string& text);

/// `text` with comments, string and character literals blanked out, line ends kept: what remains is
/// code.
std::string code_of(const std::string& text);

}  // namespace remora::tree
