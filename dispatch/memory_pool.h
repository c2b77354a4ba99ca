// A caching allocator with a hard limit and exact accounting. Every backend takes its memory from
// one. Thread-safe.
//
// Sizes are rounded up to classes, at most an eighth larger than what was asked for, and freed
// blocks are kept per class; when the limit is reached, cached blocks are given back before an
// allocation is refused. A block that an owner (memory_owner.h) gets is cleared first, unless it
// was that owner's before.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/memory_owner.h"

namespace remora::dispatch {

/// Where a pool's memory comes from: the host, a GPU.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// `bytes` of memory aligned to at least 64 bytes, or nullptr.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void free(void* memory, int64_t bytes) = 0;
  /// Sets every byte to 0.
  virtual void clear(void* memory, int64_t bytes) = 0;
};

class MemoryPool {
 public:
  /// `name` is used in refusals: "cpu:0". The source must outlive the pool.
  MemoryPool(std::string name, MemorySource& source, int64_t limit_bytes);
  ~MemoryPool();

  /// Memory for this thread's owner. RESOURCE_EXHAUSTED names the device, the bytes asked for, in
  /// use and allowed.
  absl::StatusOr<void*> allocate(int64_t bytes);
  /// `bytes` as given to `allocate`.
  void free(void* memory, int64_t bytes);
  /// Counts memory that somebody else owns but that lives here (adopted host data).
  absl::Status charge(int64_t bytes);
  void uncharge(int64_t bytes);
  /// Gives all cached blocks back to the source.
  void trim();
  /// The owner allocates no more: its cached blocks go back to the source now, those in use when
  /// they are freed.
  void retire(MemoryOwner owner);

  int64_t live_bytes() const;
  int64_t cached_bytes() const;
  /// Most live bytes at once since the pool was made or `reset_peak`.
  int64_t peak_bytes() const;
  void reset_peak();
  int64_t limit_bytes() const { return limit_bytes_; }

 private:
  struct Block {
    void* memory = nullptr;
    MemoryOwner owner = kNoOwner;
  };
  struct OwnerUse {
    int64_t live_blocks = 0;
    bool retired = false;
  };
  void add_live(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// A cached block of this class, the owner's own if one is near at hand; none: no memory.
  Block take_cached(int64_t size, MemoryOwner owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<void*> allocate_new(int64_t size, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void trim_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status refusal(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  MemorySource& source_;
  const int64_t limit_bytes_;
  mutable absl::Mutex mutex_;                                             // guards all below
  std::map<int64_t, std::vector<Block>> cached_ ABSL_GUARDED_BY(mutex_);  // by class size
  // Blocks in use that have an owner, and the owners that have blocks in use.
  absl::flat_hash_map<void*, MemoryOwner> owned_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<MemoryOwner, OwnerUse> owners_ ABSL_GUARDED_BY(mutex_);
  int64_t live_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t cached_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace remora::dispatch
