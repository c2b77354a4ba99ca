// The file with the tokens a worker accepts. Each line that is neither empty nor a comment ('#') is
//   NAME:SHA256
// the name of an identity and the hash, in hex, of a token of its own; an identity may have several
// lines. `remora token new NAME` makes a token and its line. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace remora::server {

struct KnownToken {
  std::string identity;
  std::string hash;  // wire::kTokenHashBytes raw bytes
};

/// INVALID_ARGUMENT names the line. At least one token is needed.
absl::StatusOr<std::vector<KnownToken>> parse_tokens(std::string_view content);

}  // namespace remora::server
