// Memory of a CPU device: its pool, and the storages taken from it. A storage keeps the pool alive,
// so a tensor may outlive its device. Thread-safe as the pool is.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dispatch/buffer.h"
#include "dispatch/memory_pool.h"
#include "kernels/cpu/host_memory.h"

namespace remora::cpu {

/// The memory of one device.
struct DeviceMemory {
  HostMemory source;
  dispatch::MemoryPool pool;
  DeviceMemory(std::string name, int64_t limit_bytes)
      : pool(std::move(name), source, limit_bytes) {}
};

class CpuStorage : public dispatch::Storage {
 public:
  /// Takes `bytes` from the pool; none for 0.
  static absl::StatusOr<std::shared_ptr<CpuStorage>> allocate(
      const std::shared_ptr<DeviceMemory>& memory, int64_t bytes);
  /// Keeps host bytes as they are and counts them in the pool.
  static absl::StatusOr<std::shared_ptr<CpuStorage>> adopt(
      const std::shared_ptr<DeviceMemory>& memory, dispatch::HostData data);
  explicit CpuStorage(std::shared_ptr<DeviceMemory> memory) : memory_(std::move(memory)) {}
  ~CpuStorage() override;
  CpuStorage(const CpuStorage&) = delete;
  CpuStorage& operator=(const CpuStorage&) = delete;

  /// Adopted bytes are never written: values do not change once they are ready.
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int64_t byte_size() const override { return bytes_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::shared_ptr<const std::byte> adopted_;  // null for memory of the pool
};

}  // namespace remora::cpu
