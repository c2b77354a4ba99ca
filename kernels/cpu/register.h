// Opening CPU devices.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "dispatch/registry.h"

namespace remora::cpu {

struct CpuOptions {
  /// Threads of the device's pool, the caller included; 0: as many as this process may run on.
  int threads = 0;
  /// Most bytes the device may hold; 0: 80 % of the machine's memory or of this process's cgroup.
  int64_t memory_limit_bytes = 0;
  /// The SIMD level of the kernels, "avx2" or "avx512" on x86-64; empty: what the environment
  /// variable REMORA_SIMD says, else the best that this processor has.
  std::string_view simd = {};
};

/// A CPU device with a thread pool and a memory pool of its own. FAILED_PRECONDITION if this
/// processor lacks instructions the kernels were built for; INVALID_ARGUMENT for an option that
/// makes no sense.
absl::StatusOr<std::unique_ptr<dispatch::Backend>> open_cpu(int index, CpuOptions options = {});

/// What the registry of a program needs: one device, `cpu:0`, with default options.
dispatch::BackendFactory backend_factory();

}  // namespace remora::cpu
