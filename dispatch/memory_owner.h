// Whose memory a thread allocates: in a worker, the identity behind the session whose task it runs.
// A pool clears what one owner leaves before another gets it (memory_pool.h). A program that
// computes for itself has no owner and pays nothing.
#pragma once

#include <cstdint>

namespace remora::dispatch {

/// Numbers are given once in a process, from 1.
using MemoryOwner = uint64_t;
inline constexpr MemoryOwner kNoOwner = 0;

/// The owner of the innermost scope of this thread.
MemoryOwner current_memory_owner();

/// While it lives, this thread allocates for `owner`.
class MemoryOwnerScope {
 public:
  explicit MemoryOwnerScope(MemoryOwner owner);
  ~MemoryOwnerScope();
  MemoryOwnerScope(const MemoryOwnerScope&) = delete;
  MemoryOwnerScope& operator=(const MemoryOwnerScope&) = delete;

 private:
  const MemoryOwner before_;
};

}  // namespace remora::dispatch
