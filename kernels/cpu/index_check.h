// Index operands: values outside their axis are noted while a kernel runs, clamped, and reported
// when it is done. For the kernels that gather and scatter.
#pragma once

#include <atomic>
#include <string_view>

#include "dispatch/str_cat.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {

/// The error of the first index, in row-major order, outside [0, size).
inline absl::Status index_error(std::string_view op, const TensorView& index, int64_t axis,
                                int64_t size) {
  const auto nest = broadcast_nest<1>(index.sizes, {&index});
  const int64_t stride = nest.inner_strides()[0];
  absl::Status error;
  for_rows(nest, 0, nest.numel, [&](const auto& offsets, int64_t, int64_t count) {
    for (int64_t i = 0; i < count && error.ok(); ++i) {
      const int64_t value = index.as<const int64_t>()[offsets[0] + i * stride];
      if (value >= 0 && value < size) continue;
      error = absl::InvalidArgumentError(
          str_cat(op, ": index ", value, " is out of range for axis ", axis, " of size ", size));
    }
  });
  return error;
}

/// Clamps an index into [0, size) and notes that it had to.
class IndexCheck {
 public:
  explicit IndexCheck(int64_t size) : size_(size) {}
  int64_t operator()(int64_t index) {
    if (index >= 0 && index < size_) [[likely]]
      return index;
    failed_.store(true, std::memory_order_relaxed);
    return index < 0 ? 0 : size_ - 1;
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  const int64_t size_;
  std::atomic<bool> failed_{false};
};

/// The strides of `view` with 0 for one axis.
inline Dims strides_without(const TensorView& view, int64_t axis) {
  Dims strides(view.strides.begin(), view.strides.end());
  strides[static_cast<size_t>(axis)] = 0;
  return strides;
}

}  // namespace remora::cpu
