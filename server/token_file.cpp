#include "server/token_file.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "proto/token.h"
#include "server/limits.h"

namespace remora::server {
namespace {

bool is_hash(std::string_view text) {
  return text.size() == 2 * wire::kTokenHashBytes &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

absl::StatusOr<std::vector<KnownToken>> parse_tokens(std::string_view content) {
  std::vector<KnownToken> tokens;
  int number = 0;
  const absl::string_view all(content.data(), content.size());
  for (const absl::string_view line : absl::StrSplit(all, '\n')) {
    ++number;
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text.front() == '#') continue;
    const std::string entry(text);
    const size_t colon = entry.rfind(':');
    const std::string name = entry.substr(0, std::min(colon, entry.size()));
    const std::string hash = colon == std::string::npos ? "" : entry.substr(colon + 1);
    // What the line holds may be a token: it is not repeated.
    if (!wire::is_identity_name(name) || !is_hash(hash)) {
      return absl::InvalidArgumentError(
          str_cat("line ", number,
                  " is not NAME:SHA256, as `remora token new NAME` prints it; a file with a "
                  "token itself is for clients"));
    }
    if (tokens.size() >= kMaxTokens) {
      return absl::InvalidArgumentError(
          str_cat("line ", number, ": at most ", kMaxTokens, " tokens are allowed"));
    }
    tokens.push_back({name, absl::HexStringToBytes(hash)});
  }
  if (!tokens.empty()) return tokens;
  return absl::InvalidArgumentError("holds no token; `remora token new NAME` prints a line for it");
}

}  // namespace remora::server
