// `remora bench cpu`: how fast this machine's processors record and run operations. Runs on the
// calling thread; the device uses the processors that the process may run on, so `taskset -c 0
// remora bench cpu` measures one.
#pragma once

namespace remora::cli {

struct BenchCpuOptions {
  int rounds = 7;
  bool json = false;
};

/// Measures and prints. An exit code.
int bench_cpu(const BenchCpuOptions& options);

}  // namespace remora::cli
