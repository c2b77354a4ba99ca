// How a program reaches a worker: its token and deadlines, per worker address, never part of a
// device's text. What a program does not set comes from the environment: REMORA_TOKEN_FILE,
// REMORA_INSECURE. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/remote/limits.h"

namespace remora::remote {

struct RemoteOptions {
  /// The token itself; wins over `token_file`.
  std::string token;
  /// A file that holds the token and nothing else but white space. Empty: REMORA_TOKEN_FILE.
  std::string token_file;
  /// Allows plain text to an address that is neither loopback nor a unix socket: the token and all
  /// tensors can then be read on the way. REMORA_INSECURE=1 allows it for every worker.
  bool insecure = false;
  /// How long the first contact may take.
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

}  // namespace remora::remote
