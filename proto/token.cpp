#include "proto/token.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"

namespace remora::wire {

static_assert(kTokenHashBytes == SHA256_DIGEST_LENGTH);

absl::Status check_token(std::string_view token) {
  if (token.empty()) return absl::InvalidArgumentError("is empty; it should hold the token");
  if (token.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(
        str_cat("is ", token.size(), " bytes long; at most ", kMaxTokenBytes, " are right"));
  }
  const auto bad =
      std::find_if(token.begin(), token.end(), [](char c) { return c < 0x21 || c > 0x7e; });
  if (bad == token.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat("has a byte ",
                                            static_cast<int>(static_cast<uint8_t>(*bad)), " at ",
                                            bad - token.begin(), "; printable ASCII is right"));
}

bool is_identity_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxIdentityNameBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@';
         });
}

std::string token_hash(std::string_view token) {
  std::string hash(kTokenHashBytes, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

std::string to_hex(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

std::string make_token() {
  std::string bytes(kNewTokenBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), kNewTokenBytes) != 1) {
    // A token that can be guessed is worse than no program.
    std::fputs("remora: the system gives no random bytes\n", stderr);
    std::abort();
  }
  return to_hex(bytes);
}

}  // namespace remora::wire
