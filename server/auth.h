// Who may call and who that is: tokens, certificates, and the rules of what may be served without
// either. Tokens are never logged and never part of a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/tls_material.h"
#include "server/listen_address.h"
#include "server/options.h"
#include "server/token_file.h"

namespace remora::server {

/// What a call brings to say who makes it.
struct Credentials {
  std::optional<std::string_view> authorization;  // the header
  std::string certificate;  // the name of a certificate that the connection was opened with
};

class Authenticator {
 public:
  /// Reads the files that `options` names and checks that the address may be served like that: a
  /// unix socket needs nothing (its mode keeps others out), loopback a token or a client's
  /// certificate, any other address TLS besides; --insecure lifts that. Errors name the option.
  static absl::StatusOr<Authenticator> create(const Options& options, const ListenAddress& address);

  /// The identity of who calls: of the token if the call brings one, else of its certificate.
  /// UNAUTHENTICATED, saying what to set, for a wrong token or none of what is asked for.
  absl::StatusOr<std::string> identify(const Credentials& credentials) const;

  /// True unless everybody who can connect may call.
  bool needs_credentials() const { return !tokens_.empty() || !tls_.ca.empty(); }
  /// What to encrypt connections with; no certificate: nothing.
  const wire::TlsMaterial& tls() const { return tls_; }
  /// True if a connection without a client's certificate is of no use.
  bool needs_certificate() const { return !tls_.ca.empty() && tokens_.empty(); }

 private:
  Authenticator() = default;
  absl::Status load_tls(const Options& options, const ListenAddress& address);
  absl::Status load_tokens(const Options& options);

  std::vector<KnownToken> tokens_;
  wire::TlsMaterial tls_;
  std::string nobody_;  // the identity of who needs no credentials
};

}  // namespace remora::server
