// Where a worker listens: a TCP address or a unix socket.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace remora::server {

struct ListenAddress {
  bool is_unix = false;
  std::string path;  // unix
  std::string host;  // TCP, without brackets
  uint16_t port = 0;

  /// True if only processes of this machine can connect.
  bool is_local() const;
  /// "unix:/path", "host:port" or "[::1]:port": also what gRPC takes.
  std::string str() const;
};

/// INVALID_ARGUMENT says what is right.
absl::StatusOr<ListenAddress> parse_listen_address(const std::string& text);

/// Removes a socket file that nobody listens on. ALREADY_EXISTS if somebody does or the file is
/// something else.
absl::Status clear_stale_socket(const ListenAddress& address);
/// Removes the socket file, if it is one.
void remove_socket(const ListenAddress& address);

}  // namespace remora::server
