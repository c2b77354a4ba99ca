#include "dispatch/memory_pool.h"

#include <algorithm>
#include <bit>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

constexpr int64_t kAlignment_bytes = 64;
/// Size classes per doubling: a block is at most an eighth larger than what was asked for.
constexpr int64_t kClassesPerDoubling = 8;
/// Steps between classes end here: the size of a huge page.
constexpr int64_t kLargestStep_bytes = int64_t{2} << 20;

/// Cached blocks of a class that are looked at for one that need not be cleared.
constexpr size_t kOwnerLookups = 8;

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
  const MemoryOwner owner = current_memory_owner();
  const int64_t size = class_bytes(bytes);
  Block block;
  {
    const absl::MutexLock lock(&mutex_);
    block = take_cached(size, owner);
    if (block.memory == nullptr) {
      REMORA_ASSIGN_OR_RETURN(block.memory, allocate_new(size, bytes));
    }
    add_live(size);
    if (owner != kNoOwner) {
      owned_.insert_or_assign(block.memory, owner);
      ++owners_[owner].live_blocks;
    }
  }
  // A new block too may have been another owner's, by way of the source.
  if (owner != kNoOwner && block.owner != owner) source_.clear(block.memory, size);
  return block.memory;
}

MemoryPool::Block MemoryPool::take_cached(int64_t size, MemoryOwner owner) {
  const auto found = cached_.find(size);
  if (found == cached_.end() || found->second.empty()) return {};
  std::vector<Block>& blocks = found->second;
  const size_t looked_at = std::min(blocks.size(), kOwnerLookups);
  for (size_t back = 1; back <= looked_at; ++back) {
    if (blocks[blocks.size() - back].owner != owner) continue;
    std::swap(blocks[blocks.size() - back], blocks.back());
    break;
  }
  const Block block = blocks.back();
  blocks.pop_back();
  cached_bytes_ -= size;
  return block;
}

absl::StatusOr<void*> MemoryPool::allocate_new(int64_t size, int64_t bytes) {
  if (live_bytes_ + cached_bytes_ + size > limit_bytes_) trim_locked();
  if (live_bytes_ + size > limit_bytes_) return refusal(bytes);
  void* memory = source_.allocate(size);
  if (memory == nullptr) {
    trim_locked();
    memory = source_.allocate(size);
  }
  if (memory != nullptr) return memory;
  return absl::ResourceExhaustedError(str_cat(name_, ": the system has no ", bytes, " bytes left; ",
                                              live_bytes_, " of ", limit_bytes_, " in use"));
}

void MemoryPool::free(void* memory, int64_t bytes) {
  const int64_t size = class_bytes(bytes);
  const absl::MutexLock lock(&mutex_);
  live_bytes_ -= size;
  MemoryOwner owner = kNoOwner;
  bool retired = false;
  if (const auto found = owned_.find(memory); found != owned_.end()) {
    owner = found->second;
    owned_.erase(found);
    const auto use = owners_.find(owner);
    retired = use->second.retired;
    if (--use->second.live_blocks == 0) owners_.erase(use);
  }
  if (retired) {
    source_.free(memory, size);
    return;
  }
  cached_[size].push_back({memory, owner});
  cached_bytes_ += size;
}

void MemoryPool::retire(MemoryOwner owner) {
  const absl::MutexLock lock(&mutex_);
  for (auto& [size, blocks] : cached_) {
    const auto gone = std::partition(blocks.begin(), blocks.end(),
                                     [&](const Block& block) { return block.owner != owner; });
    for (auto block = gone; block != blocks.end(); ++block) {
      source_.free(block->memory, size);
      cached_bytes_ -= size;
    }
    blocks.erase(gone, blocks.end());
  }
  if (const auto use = owners_.find(owner); use != owners_.end()) use->second.retired = true;
}

absl::Status MemoryPool::charge(int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (bytes > limit_bytes_ - live_bytes_) return refusal(bytes);
  if (live_bytes_ + cached_bytes_ + bytes > limit_bytes_) trim_locked();
  add_live(bytes);
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
    for (const Block& block : blocks) source_.free(block.memory, size);
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

int64_t MemoryPool::peak_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return peak_bytes_;
}

void MemoryPool::reset_peak() {
  const absl::MutexLock lock(&mutex_);
  peak_bytes_ = live_bytes_;
}

void MemoryPool::add_live(int64_t bytes) {
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
}

}  // namespace remora::dispatch
