// Where a worker is reached or listens: a TCP address or a unix socket. The one place that knows
// the text form; device texts, the client and the worker all come here. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace remora::dispatch {

struct WorkerAddress {
  bool is_unix = false;
  std::string path;  // unix
  std::string host;  // TCP, without brackets
  uint16_t port = 0;

  /// True if only processes of this machine can connect: a unix socket or a loopback address.
  bool is_local() const;
  /// "unix:/path", "host:port" or "[::1]:port": also what gRPC takes.
  std::string str() const;
};

/// A port to connect to, or one to listen on, where 0 stands for a free one.
enum class PortRange : uint8_t { kFromOne, kFromZero };

/// "host:port", "[IPv6]:port" or "unix:PATH", whose path may be relative. INVALID_ARGUMENT says
/// what is right, without naming where the text came from.
absl::StatusOr<WorkerAddress> parse_worker_address(std::string_view text,
                                                   PortRange ports = PortRange::kFromOne);

}  // namespace remora::dispatch
