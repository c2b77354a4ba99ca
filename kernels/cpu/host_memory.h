// Host memory for the CPU device's pool: large blocks are mapped and ask the kernel for huge pages,
// small ones come from the C library. Stateless; any thread may call it.
#pragma once

#include "dispatch/memory_pool.h"

namespace remora::cpu {

class HostMemory : public dispatch::MemorySource {
 public:
  void* allocate(int64_t bytes) override;
  void free(void* memory, int64_t bytes) override;
  void clear(void* memory, int64_t bytes) override;
};

}  // namespace remora::cpu
