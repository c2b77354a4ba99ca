#include "dispatch/memory_pool.h"

#include <algorithm>
#include <bit>

#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

constexpr int64_t kAlignment_bytes = 64;
/// Size classes per doubling: a block is at most an eighth larger than what was asked for.
constexpr int64_t kClassesPerDoubling = 8;
/// Steps between classes end here: the size of a huge page.
constexpr int64_t kLargestStep_bytes = int64_t{2} << 20;

/// The size a request is served with.
int64_t class_bytes(int64_t bytes) {
  const auto power = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max(bytes, kAlignment_bytes))));
  const int64_t step =
      std::clamp(power / kClassesPerDoubling, kAlignment_bytes, kLargestStep_bytes);
  return (std::max<int64_t>(bytes, 1) + step - 1) / step * step;
}

}  // namespace

MemoryPool::MemoryPool(std::string name, MemorySource& source, int64_t limit_bytes)
    : name_(std::move(name)), source_(source), limit_bytes_(limit_bytes) {}

MemoryPool::~MemoryPool() { trim(); }

absl::StatusOr<void*> MemoryPool::allocate(int64_t bytes) {
  if (bytes > limit_bytes_) {
    const absl::MutexLock lock(&mutex_);
    return refusal(bytes);
  }
  const int64_t size = class_bytes(bytes);
  const absl::MutexLock lock(&mutex_);
  if (const auto found = cached_.find(size); found != cached_.end() && !found->second.empty()) {
    void* memory = found->second.back();
    found->second.pop_back();
    cached_bytes_ -= size;
    live_bytes_ += size;
    return memory;
  }
  if (live_bytes_ + cached_bytes_ + size > limit_bytes_) trim_locked();
  if (live_bytes_ + size > limit_bytes_) return refusal(bytes);
  void* memory = source_.allocate(size);
  if (memory == nullptr) {
    trim_locked();
    memory = source_.allocate(size);
  }
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(str_cat(name_, ": the system has no ", bytes,
                                                " bytes left; ", live_bytes_, " of ", limit_bytes_,
                                                " in use"));
  }
  live_bytes_ += size;
  return memory;
}

void MemoryPool::free(void* memory, int64_t bytes) {
  const int64_t size = class_bytes(bytes);
  const absl::MutexLock lock(&mutex_);
  cached_[size].push_back(memory);
  live_bytes_ -= size;
  cached_bytes_ += size;
}

absl::Status MemoryPool::charge(int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (bytes > limit_bytes_ - live_bytes_) return refusal(bytes);
  if (live_bytes_ + cached_bytes_ + bytes > limit_bytes_) trim_locked();
  live_bytes_ += bytes;
  return absl::OkStatus();
}

void MemoryPool::uncharge(int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  live_bytes_ -= bytes;
}

void MemoryPool::trim() {
  const absl::MutexLock lock(&mutex_);
  trim_locked();
}

void MemoryPool::trim_locked() {
  for (auto& [size, blocks] : cached_) {
    for (void* memory : blocks) source_.free(memory, size);
    blocks.clear();
  }
  cached_bytes_ = 0;
}

absl::Status MemoryPool::refusal(int64_t bytes) const {
  return absl::ResourceExhaustedError(str_cat(name_, ": ", bytes, " bytes asked for, ", live_bytes_,
                                              " of ", limit_bytes_, " in use"));
}

int64_t MemoryPool::live_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return live_bytes_;
}

int64_t MemoryPool::cached_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return cached_bytes_;
}

}  // namespace remora::dispatch
