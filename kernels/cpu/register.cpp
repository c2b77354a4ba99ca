#include "kernels/cpu/register.h"

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/backend.h"
#include "kernels/cpu/host_machine.h"
#include "kernels/cpu/limits.h"

namespace remora::cpu {
absl::StatusOr<std::unique_ptr<dispatch::Backend>> open_cpu(int index, CpuOptions options) {
  REMORA_ASSIGN_OR_RETURN(const SimdLevel simd, choose_simd(options.simd));
  if (index < 0) return absl::InvalidArgumentError(str_cat("cpu: index ", index, " is negative"));
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return absl::InvalidArgumentError(str_cat("cpu:", index, ": ", options.threads,
                                              " threads; allowed are 1 to ", kMaxThreads,
                                              ", or 0 for as many as the process may use"));
  }
  if (options.memory_limit_bytes < 0) {
    return absl::InvalidArgumentError(
        str_cat("cpu:", index, ": the memory limit ", options.memory_limit_bytes, " is negative"));
  }
  if (options.threads == 0) options.threads = std::min(usable_processors(), kMaxThreads);
  if (options.memory_limit_bytes == 0) {
    options.memory_limit_bytes = usable_memory_bytes() / 100 * kDefaultMemoryPercent;
  }
  return std::make_unique<CpuBackend>(index, simd, options.threads, options.memory_limit_bytes);
}

dispatch::BackendFactory backend_factory() {
  dispatch::BackendFactory factory;
  factory.open = [](const dispatch::DeviceIdentity& identity)
      -> absl::StatusOr<std::unique_ptr<dispatch::Backend>> {
    if (identity.index != 0) {
      return absl::NotFoundError(
          str_cat("cpu:", identity.index,
                  " does not exist: this machine's processors are one device, cpu:0"));
    }
    return open_cpu(0);
  };
  factory.count = []() -> absl::StatusOr<int> {
    REMORA_RETURN_IF_ERROR(choose_simd("").status());
    return 1;
  };
  return factory;
}

}  // namespace remora::cpu
