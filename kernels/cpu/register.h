// Opening CPU devices. This file and its source are compiled for any machine, so that one without
// the instructions the kernels need gets an error instead of an illegal instruction.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "dispatch/registry.h"

namespace remora::cpu {

struct CpuOptions {
  /// Threads of the device's pool, the caller included; 0: as many as this process may run on.
  int threads = 0;
  /// Most bytes the device may hold; 0: 80 % of the machine's memory or of this process's cgroup.
  int64_t memory_limit_bytes = 0;
};

/// A CPU device with a thread pool and a memory pool of its own. FAILED_PRECONDITION if this
/// processor lacks instructions the kernels were built for; INVALID_ARGUMENT for an option that
/// makes no sense.
absl::StatusOr<std::unique_ptr<dispatch::Backend>> open_cpu(int index, CpuOptions options = {});

/// What the registry of a program needs: one device, `cpu:0`, with default options.
dispatch::BackendFactory backend_factory();

}  // namespace remora::cpu
