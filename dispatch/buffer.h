// Storage, views of it, and bytes on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dispatch/memory_account.h"
#include "dispatch/shape.h"

namespace remora::dispatch {

/// What a backend keeps for one allocation: memory on its device, or an id on a worker. Destroying
/// it frees it. Backends derive from it; nobody else looks inside.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Bytes it holds in this process, whatever views of it are left.
  virtual int64_t byte_size() const { return 0; }

  /// What the storage costs its owner's account until it is freed: a small view keeps all of it
  /// alive, so the charge goes with the storage and not with the value that was made first. Set at
  /// most once, before any value on the storage is settled.
  bool charged() const { return charge_.bytes() > 0; }
  void hold(MemoryCharge charge) { charge_ = std::move(charge); }

 private:
  MemoryCharge charge_;
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
