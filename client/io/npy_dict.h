// The header of an .npy file as text: of all Python, a dict of strings, booleans and tuples of
// integers. One object for one header; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dispatch/shape.h"

namespace remora::io {

/// Reads a literal from its beginning. An error names the field and what is wrong.
class NpyDictReader {
 public:
  explicit NpyDictReader(std::string_view text) : text_(text) {}

  /// Names the field that errors are about.
  void enter(std::string_view field) { field_ = field; }
  absl::Status error(std::string_view what) const;

  /// True if the next character after blanks is `wanted`; it is taken.
  bool take(char wanted);
  bool at_end();
  /// 'text' or "text", without escapes.
  absl::StatusOr<std::string> string();
  absl::StatusOr<bool> boolean();
  /// (), (3,), (3, 4): at most kMaxRank sizes.
  absl::StatusOr<Dims> tuple();

 private:
  void skip_blanks();
  absl::StatusOr<int64_t> integer();

  std::string_view text_;
  size_t position_ = 0;
  std::string field_;
};

}  // namespace remora::io
