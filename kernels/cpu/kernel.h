// What a CPU kernel is: a function over strided views that fills its outputs. The catalogue's rows
// name the kernels; a row without one does not link.
//
// A kernel writes every element of its outputs, also when it reports a failure. It returns
// RESOURCE_EXHAUSTED if scratch memory did not fit, which fails the run, and any other error for
// values it cannot compute with (an index out of range), which fails the op alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "dispatch/limits.h"
#include "dispatch/memory_pool.h"
#include "dispatch/op.h"
#include "kernels/cpu/thread_pool.h"

namespace remora::cpu {

/// An operand or result as a kernel sees it. Strides are in elements and may be 0 or negative for
/// operands; results are row-major.
struct TensorView {
  std::byte* data = nullptr;  // the element at index 0 of every axis
  DType dtype = DType::kF32;
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t size(int64_t axis) const { return sizes[static_cast<size_t>(axis)]; }
  int64_t stride(int64_t axis) const { return strides[static_cast<size_t>(axis)]; }
  int64_t numel() const;
  bool is_contiguous() const;
};

/// Memory for the time of one kernel, from the device's pool.
class Scratch {
 public:
  static absl::StatusOr<Scratch> allocate(dispatch::MemoryPool& pool, int64_t bytes);
  Scratch() = default;
  Scratch(Scratch&& other) noexcept
      : pool_(other.pool_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Scratch() {
    if (data_ != nullptr) pool_->free(data_, bytes_);
  }

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  dispatch::MemoryPool* pool_ = nullptr;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// One execution of one op.
struct KernelCall {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  const dispatch::Attrs& attrs;
  ThreadPool& threads;
  dispatch::MemoryPool& memory;

  const TensorView& in(size_t index) const { return inputs[index]; }
  const TensorView& out(size_t index = 0) const { return outputs[index]; }
  template <typename T>
  const T& attributes() const {
    return std::get<T>(attrs);
  }
  absl::StatusOr<Scratch> scratch(int64_t bytes) const { return Scratch::allocate(memory, bytes); }
  /// Runs blocks in parallel if the whole is worth it: `cost_ns` estimates it on one thread. The
  /// estimate never changes a result.
  void parallel_for(int64_t blocks, double cost_ns, ThreadPool::Block run) const;
};

using Kernel = absl::Status (*)(const KernelCall& call);

namespace kernels {
#define UNARY(number, name, ...) absl::Status name(const KernelCall& call);
#define BINARY(number, name, ...) absl::Status name(const KernelCall& call);
#define TERNARY(number, name, ...) absl::Status name(const KernelCall& call);
#define OP(number, name, ...) absl::Status name(const KernelCall& call);
#define FAST(number, name, ...) absl::Status name(const KernelCall& call);
#include "dispatch/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
}  // namespace kernels

/// True if the op on this element type is run on f32 copies (in_f32.h).
bool computes_in_f32(const dispatch::OpInfo& info, DType dtype);
/// True if the op's kernel on this element type copies operands that are not row-major.
bool packs_operands(const dispatch::OpInfo& info, DType dtype);

}  // namespace remora::cpu
