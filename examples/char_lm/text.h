// The text that the model learns.
#pragma once

#include <string>

namespace remora::char_lm {

/// The file's bytes; with an empty path, this project's manual: docs/*.md one after another. Throws
/// std::runtime_error naming what cannot be read.
std::string read_text(const std::string& path);

}  // namespace remora::char_lm
