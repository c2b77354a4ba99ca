// A bare gRPC echo: a bidirectional stream of the kind a session is, that does nothing. Its round
// trip is the floor under every figure of the wire.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace remora::remote {

/// Answers every message of every stream with itself. Serves on threads of gRPC until it is
/// destroyed.
class EchoServer {
 public:
  virtual ~EchoServer() = default;
  /// "127.0.0.1:port".
  virtual std::string address() const = 0;
  /// Serves on a free loopback port.
  static absl::StatusOr<std::unique_ptr<EchoServer>> start();
};

/// One stream to an EchoServer. One thread at a time.
class EchoClient {
 public:
  virtual ~EchoClient() = default;
  /// Sends a message of `bytes` bytes and waits until it is back.
  virtual absl::Status round_trip(size_t bytes) = 0;
  static absl::StatusOr<std::unique_ptr<EchoClient>> open(const std::string& address);
};

}  // namespace remora::remote
