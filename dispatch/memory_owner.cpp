#include "dispatch/memory_owner.h"

#include <utility>

namespace remora::dispatch {
namespace {

thread_local MemoryOwner current = kNoOwner;

}  // namespace

MemoryOwner current_memory_owner() { return current; }

MemoryOwnerScope::MemoryOwnerScope(MemoryOwner owner) : before_(std::exchange(current, owner)) {}

MemoryOwnerScope::~MemoryOwnerScope() { current = before_; }

}  // namespace remora::dispatch
