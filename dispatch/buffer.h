// Storage, views of it, and bytes on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dispatch/shape.h"

namespace remora::dispatch {

/// What a backend keeps for one allocation: memory on its device, or an id on a worker. Destroying
/// it frees it. Backends derive from it; nobody else looks inside.
class Storage {
 public:
  virtual ~Storage() = default;
};

/// A strided view of a Storage. Views share the storage; strides and offset are in elements.
struct Buffer {
  std::shared_ptr<Storage> storage;
  Spec spec;
  Dims strides;
  int64_t offset = 0;

  /// True if the elements lie row-major without gaps.
  bool is_contiguous() const;
};

/// Bytes of a row-major tensor in host memory, shared and immutable.
struct HostData {
  Spec spec;
  std::shared_ptr<const std::byte>
      bytes;  // spec.byte_size() of them; null only when there are none

  std::span<const std::byte> span() const {
    return {bytes.get(), static_cast<size_t>(spec.byte_size())};
  }
  /// Allocates room for `spec`, 64-byte aligned, and lets `fill` write it before it becomes shared.
  template <typename Fill>
  static HostData make(Spec spec, Fill&& fill) {
    auto bytes = allocate(static_cast<size_t>(spec.byte_size()));
    fill(std::span<std::byte>(bytes.get(), static_cast<size_t>(spec.byte_size())));
    return {std::move(spec), std::move(bytes)};
  }
  static HostData copy_of(Spec spec, std::span<const std::byte> bytes);

 private:
  static std::shared_ptr<std::byte> allocate(size_t bytes);

 public:
  HostData() = default;
  HostData(Spec spec_in, std::shared_ptr<const std::byte> bytes_in)
      : spec(std::move(spec_in)), bytes(std::move(bytes_in)) {}
};

}  // namespace remora::dispatch
