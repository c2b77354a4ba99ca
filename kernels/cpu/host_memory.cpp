#include "kernels/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/cpu/limits.h"

namespace remora::cpu {
namespace {

/// `bytes` rounded up to a multiple of `unit`, or 0 where that does not fit.
int64_t round_up(int64_t bytes, int64_t unit) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - unit) return 0;
  return (bytes + unit - 1) / unit * unit;
}

/// Maps `size` bytes at a multiple of the huge page size, so that all of them can be huge pages.
void* map_aligned(int64_t size) {
  const auto mapped_bytes = static_cast<size_t>(size + kHugePageBytes);
  void* mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const size_t head =
      (static_cast<size_t>(kHugePageBytes) - address % kHugePageBytes) % kHugePageBytes;
  const size_t tail = mapped_bytes - head - static_cast<size_t>(size);
  if (head > 0) munmap(begin, head);
  if (tail > 0) munmap(begin + head + size, tail);
  madvise(begin + head, static_cast<size_t>(size), MADV_HUGEPAGE);
  return begin + head;
}

}  // namespace

void* HostMemory::allocate(int64_t bytes) {
  if (bytes < kHugePageBytes) {
    const int64_t size = round_up(bytes, kAlignmentBytes);
    return std::aligned_alloc(kAlignmentBytes,
                              static_cast<size_t>(size > 0 ? size : kAlignmentBytes));
  }
  const int64_t size = round_up(bytes, 2 * kHugePageBytes);
  return size == 0 ? nullptr : map_aligned(round_up(bytes, kHugePageBytes));
}

void HostMemory::free(void* memory, int64_t bytes) {
  if (memory == nullptr) return;
  if (bytes < kHugePageBytes) {
    std::free(memory);
  } else {
    munmap(memory, static_cast<size_t>(round_up(bytes, kHugePageBytes)));
  }
}

void HostMemory::clear(void* memory, int64_t bytes) {
  std::memset(memory, 0, static_cast<size_t>(bytes));
}

}  // namespace remora::cpu
