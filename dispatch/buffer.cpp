#include "dispatch/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace remora::dispatch {

bool Buffer::is_contiguous() const {
  int64_t expected = 1;
  for (int64_t axis = spec.shape.rank() - 1; axis >= 0; --axis) {
    const int64_t size = spec.shape[axis];
    if (size == 0) return true;
    if (size != 1 && strides[static_cast<size_t>(axis)] != expected) return false;
    expected *= size;
  }
  return true;
}

HostData HostData::copy_of(Spec spec, std::span<const std::byte> bytes) {
  return make(std::move(spec), [&](std::span<std::byte> out) {
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), std::min(bytes.size(), out.size()));
  });
}

std::shared_ptr<std::byte> HostData::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr size_t kAlignment = 64;
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, [](std::byte* pointer) { std::free(pointer); }};
}

}  // namespace remora::dispatch
