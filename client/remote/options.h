// How a program reaches a worker: its credentials and deadlines, per worker address, never part of
// a device's text. What a program does not set comes from the environment: REMORA_TOKEN_FILE,
// REMORA_TLS_CA, REMORA_TLS_CERT, REMORA_TLS_KEY, REMORA_INSECURE. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/remote/limits.h"
#include "proto/tls_material.h"

namespace remora::remote {

/// `tls_ca` of a worker that is trusted as web servers are: by the system's authorities.
inline constexpr const char* kSystemCa = "system";
/// `tls_ca` of a worker that is called without TLS, whatever the environment says.
inline constexpr const char* kNoCa = "none";

struct RemoteOptions {
  /// The token itself; wins over `token_file`.
  std::string token = {};
  /// A file that holds the token and nothing else but white space, and that nobody else can read.
  /// Empty: REMORA_TOKEN_FILE.
  std::string token_file = {};
  /// A PEM file with the authorities that sign the worker's certificate, or kSystemCa, or kNoCa.
  /// Empty: REMORA_TLS_CA. The connection is encrypted if this or a certificate is set; a unix
  /// socket's never is.
  std::string tls_ca = {};
  /// PEM files with this program's own certificate and its key, for workers that ask for them.
  /// Empty: REMORA_TLS_CERT and REMORA_TLS_KEY.
  std::string tls_certificate = {};
  std::string tls_key = {};
  /// Allows plain text to an address that is neither loopback nor a unix socket: the token and all
  /// tensors can then be read on the way. REMORA_INSECURE=1 allows it for every worker.
  bool insecure = false;
  /// How long each step of the first contact may take.
  int connect_deadline_ms = wire::kControlDeadline_ms;
};

/// The one spelling of an address that tables and device texts use: a host's name has no case, a
/// path does.
std::string worker_key(std::string_view address);

/// Sets the options of one worker ("host:port" or "unix:/path"). They count from the next session
/// on.
void set_remote_options(std::string_view address, RemoteOptions options);

/// What was set for that worker, completed from the environment.
RemoteOptions remote_options(std::string_view address);

/// A token and the option it came from, for messages.
struct Token {
  std::string text;  // empty: the worker is called without one
  std::string source;
};

/// The token of that worker. An error names the worker, the option and the file.
absl::StatusOr<Token> load_token(std::string_view address, const RemoteOptions& options);

/// Certificates and keys of a connection, and the options they came from, for messages.
struct Tls {
  wire::TlsMaterial material;
  std::string ca_source;           // "REMORA_TLS_CA (ca.pem)"
  std::string certificate_source;  // likewise; where there is none, how to set one
};

/// What a connection to that worker is encrypted with; nothing where it is not. An error names the
/// worker, the option and the file.
absl::StatusOr<std::optional<Tls>> load_tls(std::string_view address, const RemoteOptions& options);

}  // namespace remora::remote
