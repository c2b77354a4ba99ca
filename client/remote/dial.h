// A plain connection to a worker's address, without gRPC, to find out which layer fails: the name,
// the connection, or what is spoken on it. Thread-safe.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "dispatch/worker_address.h"

namespace remora::remote {

/// A descriptor that is closed with its owner.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// A connected, blocking socket whose reads and writes give up after `deadline_ms`. NOT_FOUND where
/// the name does not resolve, UNAVAILABLE where nothing answers within `deadline_ms`; the message
/// is the system's reason.
absl::StatusOr<Socket> dial(const dispatch::WorkerAddress& address, int deadline_ms);

}  // namespace remora::remote
