#include "client/io/npy_dict.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "client/io/file_error.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora::io {

absl::Status NpyDictReader::error(std::string_view what) const {
  const std::string field = field_.empty() ? "" : str_cat(": field ", in_quotes(field_));
  return malformed(str_cat("the header", field, ": ", what));
}

void NpyDictReader::skip_blanks() {
  while (position_ < text_.size() && absl::ascii_isspace(text_[position_])) ++position_;
}

bool NpyDictReader::take(char wanted) {
  skip_blanks();
  if (position_ == text_.size() || text_[position_] != wanted) return false;
  ++position_;
  return true;
}

bool NpyDictReader::at_end() {
  skip_blanks();
  return position_ == text_.size();
}

absl::StatusOr<std::string> NpyDictReader::string() {
  const char quote = take('\'') ? '\'' : '"';
  if (quote == '"' && !take('"')) {
    return error(str_cat("a string is missing at byte ", position_));
  }
  const size_t end = text_.find(quote, position_);
  const std::string_view value = text_.substr(position_, end - position_);
  if (end == std::string_view::npos || value.find('\\') != std::string_view::npos) {
    return error(str_cat("the string at byte ", position_, " has no end or an escape in it"));
  }
  position_ = end + 1;
  return std::string(value);
}

absl::StatusOr<bool> NpyDictReader::boolean() {
  skip_blanks();
  for (const bool value : {false, true}) {
    const std::string_view name = value ? "True" : "False";
    if (text_.substr(position_).starts_with(name)) {
      position_ += name.size();
      return value;
    }
  }
  return error("is neither True nor False");
}

absl::StatusOr<int64_t> NpyDictReader::integer() {
  skip_blanks();
  int64_t value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (code == std::errc::result_out_of_range) {
    return error(str_cat("the number at byte ", position_, " does not fit 64 bits"));
  }
  if (code != std::errc()) return error(str_cat("a number is missing at byte ", position_));
  position_ += static_cast<size_t>(end - begin);
  // NumPy under Python 2 wrote the sizes as (3L, 4L).
  if (position_ < text_.size() && text_[position_] == 'L') ++position_;
  return value;
}

absl::StatusOr<Dims> NpyDictReader::tuple() {
  if (!take('(')) return error("is not a tuple");
  Dims sizes;
  while (!take(')')) {
    REMORA_ASSIGN_OR_RETURN(const int64_t size, integer());
    if (std::ssize(sizes) == dispatch::kMaxRank) {
      return error(str_cat("has more than ", dispatch::kMaxRank, " sizes"));
    }
    sizes.push_back(size);
    if (take(',')) continue;
    if (sizes.size() == 1 || !take(')')) {
      return error("is not a tuple of numbers with commas between them");
    }
    break;
  }
  return sizes;
}

}  // namespace remora::io
