// Who may call: one token, brought by every call, and the rules of what may be served without one.
// Tokens are never logged and never part of a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/listen_address.h"
#include "server/options.h"

namespace remora::server {

class Authenticator {
 public:
  /// Without a token everybody may call.
  explicit Authenticator(std::optional<std::string> token) : token_(std::move(token)) {}

  /// Reads `options.token_file` and checks that the address may be served like that: a unix socket
  /// needs no token (its mode keeps others out), loopback needs one or --insecure, any other
  /// address --insecure, since this version has no TLS.
  static absl::StatusOr<Authenticator> create(const Options& options, const ListenAddress& address);

  /// UNAUTHENTICATED, saying what to set, unless `authorization` is "Bearer TOKEN" with the right
  /// token.
  absl::Status check(std::optional<std::string_view> authorization) const;
  bool needs_token() const { return token_.has_value(); }

 private:
  std::optional<std::string> token_;
};

/// Compares in a time that depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace remora::server
