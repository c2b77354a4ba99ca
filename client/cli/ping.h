// `remora ping` and `remora devices`: what a worker is, layer by layer.
#pragma once

#include <string>

#include "client/cli/credentials.h"

namespace remora::cli {

struct PingOptions {
  std::string
      address;  // "host:port", "unix:/path" or a device text; empty: the first of REMORA_WORKERS
  Credentials credentials;
  int count = 100;  // round trips
  bool json = false;
  bool health = false;  // only whether it serves: no token, no session
};

/// Asks a worker layer by layer and prints the round trip or the layer that failed. An exit code.
int ping(const PingOptions& options);

/// "" if the worker at that address, with the environment's token, opens a session; else the layer
/// that failed and why.
std::string why_unreachable(const std::string& address);

/// Prints the devices of a worker, or without an address those of this build and of REMORA_WORKERS.
/// An exit code.
int devices(const PingOptions& options);

}  // namespace remora::cli
