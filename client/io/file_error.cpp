#include "client/io/file_error.h"

#include <system_error>

#include "absl/strings/escaping.h"
#include "client/io/limits.h"
#include "dispatch/str_cat.h"

namespace remora::io {

std::string in_quotes(std::string_view text) {
  const bool is_long = text.size() > kMaxQuotedBytes;
  const std::string shown(text.substr(0, kMaxQuotedBytes));
  return str_cat("\"", absl::CHexEscape(shown), is_long ? "..." : "", "\"");
}

absl::Status malformed(std::string_view what) {
  return absl::InvalidArgumentError(std::string(what));
}

absl::Status system_error(std::string_view action, int number) {
  return {absl::ErrnoToStatusCode(number),
          str_cat(action, ": ", std::generic_category().message(number))};
}

absl::Status prefixed(std::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), str_cat(prefix, ": ", std::string(status.message()))};
}

}  // namespace remora::io
