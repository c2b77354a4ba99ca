// The CPU device: the reference every other backend is compared with. Kernels run on the thread
// that calls `run`, with the device's own pool beside it; when `run` returns, its outputs are
// there.
#pragma once

#include <memory>
#include <string>

#include "dispatch/backend.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/storage.h"
#include "kernels/cpu/thread_pool.h"

namespace remora::cpu {

class CpuBackend : public dispatch::Backend {
 public:
  /// Use `open_cpu` (register.h), which checks the processor and the arguments.
  CpuBackend(int index, const SimdLevel& simd, int threads, int64_t memory_limit_bytes);

  dispatch::DeviceInfo info() const override;
  bool supports(dispatch::OpCode code, DType dtype) const override;
  absl::StatusOr<std::unique_ptr<dispatch::Plan>> prepare(dispatch::GraphPtr graph,
                                                          const dispatch::LiveSet& live) override;
  dispatch::RunResult run(dispatch::Plan& plan, const dispatch::RunRequest& request) override;
  /// Keeps row-major bytes as they are where it can; bool bytes become 0 or 1.
  absl::StatusOr<dispatch::Buffer> upload(dispatch::ValueId id, dispatch::HostData data) override;
  /// Calls `done` before it returns. A large tensor that is all of its storage is shared, not
  /// copied.
  void download(const dispatch::Buffer& buffer, dispatch::ReadCallback done) override;
  absl::StatusOr<dispatch::Buffer> copy_from(dispatch::Backend& source,
                                             const dispatch::Buffer& buffer,
                                             dispatch::ValueId id) override;
  absl::Status synchronize() override { return absl::OkStatus(); }
  dispatch::MemoryUse memory() const override;
  void reset_peak_memory() override;
  void trim() override;
  void retire(dispatch::MemoryOwner owner) override { memory_->pool.retire(owner); }

 private:
  const std::string name_;  // "cpu:0"
  const SimdLevel simd_;
  const std::shared_ptr<DeviceMemory> memory_;
  ThreadPool threads_;
};

}  // namespace remora::cpu
