// How errors of files read. Inside client/io a status says only what is wrong; the function that a
// program called puts its name and the path before it. Pure functions; any thread may call them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace remora::io {

/// `text` in double quotes as an error may show it: all but printable ASCII escaped, cut at
/// kMaxQuotedBytes.
std::string in_quotes(std::string_view text);

/// What a file says cannot be: INVALID_ARGUMENT.
absl::Status malformed(std::string_view what);

/// "action: reason of errno", with the code that fits the number.
absl::Status system_error(std::string_view action, int number);

/// The status with "prefix: " before its message.
absl::Status prefixed(std::string_view prefix, const absl::Status& status);

}  // namespace remora::io
