// The text that the model learns.
#pragma once

#include <cstddef>
#include <string>

namespace remora::char_lm {

/// Characters of the longest text: places in it are drawn by `randint`.
inline constexpr size_t kMaxText = size_t{1} << 24;

/// The file's bytes; with an empty path, this project's manual: docs/*.md one after another. Throws
/// std::runtime_error naming what cannot be read or is longer than kMaxText.
std::string read_text(const std::string& path);

}  // namespace remora::char_lm
