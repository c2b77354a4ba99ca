#include "server/auth.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "dispatch/str_cat.h"
#include "server/limits.h"

namespace remora::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";

absl::StatusOr<std::string> read_token(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content(kMaxTokenBytes + 1, '\0');
  if (!file.read(content.data(), static_cast<std::streamsize>(content.size())) && !file.eof()) {
    return absl::NotFoundError(str_cat("--token-file: '", path, "' cannot be read"));
  }
  content.resize(static_cast<size_t>(file.gcount()));
  std::string token(absl::StripAsciiWhitespace(content));
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.size() < kMinTokenBytes || content.size() > kMaxTokenBytes || !printable) {
    return absl::InvalidArgumentError(str_cat(
        "--token-file: '", path, "' must hold one token of ", kMinTokenBytes, " to ",
        kMaxTokenBytes, " printable characters without spaces; `openssl rand -hex 32` makes one"));
  }
  return token;
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  volatile uint8_t difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference = static_cast<uint8_t>(difference |
                                      (static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i])));
  }
  return difference == 0;
}

absl::StatusOr<Authenticator> Authenticator::create(const Options& options,
                                                    const ListenAddress& address) {
  if (!address.is_local() && !options.insecure) {
    return absl::FailedPreconditionError(
        str_cat("--listen ", address.str(),
                " can be reached from other machines, and this version has no TLS: ",
                "listen on 127.0.0.1 or a unix socket, or accept plain text with --insecure"));
  }
  if (!options.token_file.empty()) {
    absl::StatusOr<std::string> token = read_token(options.token_file);
    if (!token.ok()) return token.status();
    return Authenticator(*std::move(token));
  }
  if (!address.is_unix && !options.insecure) {
    return absl::FailedPreconditionError(
        str_cat("--listen ", address.str(),
                " can be reached by every user of this machine: set --token-file, ",
                "listen on a unix socket, or allow everybody with --insecure"));
  }
  return Authenticator(std::nullopt);
}

absl::Status Authenticator::check(std::optional<std::string_view> authorization) const {
  if (!token_) return absl::OkStatus();
  constexpr std::string_view kAdvice =
      "set REMORA_TOKEN_FILE or --token-file to a file with this worker's token";
  if (!authorization) {
    return absl::UnauthenticatedError(
        str_cat("the worker needs a token and the call brings none: ", kAdvice));
  }
  if (authorization->substr(0, kScheme.size()) != kScheme) {
    return absl::UnauthenticatedError(
        str_cat("the call's authorization is not of the form 'Bearer TOKEN': ", kAdvice));
  }
  if (!equal_in_constant_time(authorization->substr(kScheme.size()), *token_)) {
    return absl::UnauthenticatedError(str_cat("the token is not this worker's: ", kAdvice));
  }
  return absl::OkStatus();
}

}  // namespace remora::server
