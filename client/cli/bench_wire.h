// `remora bench wire`: what the wire costs, beside a bare gRPC round trip of the same run.
#pragma once

#include <string>

#include "client/cli/credentials.h"

namespace remora::cli {

struct BenchWireOptions {
  std::string worker;       // "host:port": measures that worker alone; empty: private workers
  Credentials credentials;  // for `worker`
  int rounds = 15;
  bool json = false;
};

/// Measures and prints. An exit code.
int bench_wire(const BenchWireOptions& options);

/// The echo that `bench wire` measures the floor against: serves until its standard input closes.
/// An exit code.
int serve_echo();

}  // namespace remora::cli
