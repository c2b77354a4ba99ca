// Where a worker listens: a TCP address or a unix socket, and the sockets that do. Sockets are made
// here and not by gRPC, so that a failure has its reason and a unix socket its mode before anybody
// can connect.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatch/worker_address.h"

namespace remora::server {

using ListenAddress = dispatch::WorkerAddress;

/// INVALID_ARGUMENT says what is right. A unix socket's path becomes absolute.
absl::StatusOr<ListenAddress> parse_listen_address(const std::string& text);

/// Listening sockets. They are closed, and the file of a unix one removed, with their owner.
class ListenSockets {
 public:
  /// Listens on every address of the host's name. UNAVAILABLE or ALREADY_EXISTS says why not: the
  /// address is in use, not of this machine, not this user's to take. A socket file that nobody
  /// listens on is replaced, anything else in its place is left alone. A unix socket has mode 0600,
  /// and its folder is made, for this user alone, if only the last part of it is missing.
  static absl::StatusOr<ListenSockets> open(const ListenAddress& address);
  ListenSockets(ListenSockets&& other) noexcept
      : address_(std::move(other.address_)), sockets_(std::exchange(other.sockets_, {})) {}
  ListenSockets& operator=(ListenSockets&&) = delete;
  ~ListenSockets();

  /// Where it listens, with the port it was given.
  const ListenAddress& address() const { return address_; }
  const std::vector<int>& sockets() const { return sockets_; }

 private:
  explicit ListenSockets(ListenAddress address) : address_(std::move(address)) {}
  absl::Status open_unix();
  absl::Status open_tcp();

  ListenAddress address_;
  std::vector<int> sockets_;
};

}  // namespace remora::server
