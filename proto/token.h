// Tokens: what a program brings with every call to say who it is. A worker knows their SHA-256
// alone, so that its files give nobody a token. Pure functions; any thread may call them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace remora::wire {

/// INVALID_ARGUMENT, in words that follow the token's source, unless it can travel as a header: 1
/// to kMaxTokenBytes characters of printable ASCII without spaces. Never contains the token.
absl::Status check_token(std::string_view token);

/// True for 1 to kMaxIdentityNameBytes letters, digits and '.', '_', '-', '@'.
bool is_identity_name(std::string_view name);

/// SHA-256, kTokenHashBytes raw bytes.
std::string token_hash(std::string_view token);
/// "0a1b..." of bytes, in lower case.
std::string to_hex(std::string_view bytes);

/// A new token of kNewTokenBytes random bytes, in hex.
std::string make_token();

}  // namespace remora::wire
