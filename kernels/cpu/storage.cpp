#include "kernels/cpu/storage.h"

#include "dispatch/error.h"

namespace remora::cpu {

absl::StatusOr<std::shared_ptr<CpuStorage>> CpuStorage::allocate(
    const std::shared_ptr<DeviceMemory>& memory, int64_t bytes) {
  auto storage = std::make_shared<CpuStorage>(memory);
  if (bytes == 0) return storage;
  REMORA_ASSIGN_OR_RETURN(void* data, memory->pool.allocate(bytes));
  storage->data_ = static_cast<std::byte*>(data);
  storage->bytes_ = bytes;
  return storage;
}

absl::StatusOr<std::shared_ptr<CpuStorage>> CpuStorage::adopt(
    const std::shared_ptr<DeviceMemory>& memory, dispatch::HostData data) {
  auto storage = std::make_shared<CpuStorage>(memory);
  const int64_t bytes = data.spec.byte_size();
  REMORA_RETURN_IF_ERROR(memory->pool.charge(bytes));
  storage->bytes_ = bytes;
  storage->data_ = const_cast<std::byte*>(data.bytes.get());
  storage->adopted_ = std::move(data.bytes);
  return storage;
}

CpuStorage::~CpuStorage() {
  if (bytes_ == 0) return;
  if (adopted_ != nullptr) {
    memory_->pool.uncharge(bytes_);
  } else {
    memory_->pool.free(data_, bytes_);
  }
}

}  // namespace remora::cpu
