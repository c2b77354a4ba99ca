// `remora bench cpu`: how fast this machine's processors record and run operations. Runs on the
// calling thread; the device uses the processors that the process may run on, so `taskset -c 0
// remora bench cpu` measures one.
#pragma once

#include <string>

namespace remora::cli {

struct BenchCpuOptions {
  int rounds = 7;
  std::string only;  // families whose key begins so; all of them if empty
  bool json = false;
};

/// Measures and prints. An exit code: kUsage if `only` fits no family.
int bench_cpu(const BenchCpuOptions& options);

}  // namespace remora::cli
