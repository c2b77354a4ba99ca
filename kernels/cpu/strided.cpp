#include "kernels/cpu/strided.h"

#include <cstring>

#include "dispatch/error.h"

namespace remora::cpu {
namespace {

constexpr double kCopyNsPerElement = 0.5;

template <typename T>
void copy_row(const T* source, int64_t source_stride, T* target, int64_t target_stride,
              int64_t count) {
  if (source_stride == 1 && target_stride == 1) {
    if (count < 8) {
      for (int64_t i = 0; i < count; ++i) target[i] = source[i];
    } else {
      std::memcpy(target, source, static_cast<size_t>(count) * sizeof(T));
    }
  } else if (source_stride == 0 && target_stride == 1) {
    std::fill_n(target, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * target_stride] = source[i * source_stride];
  }
}

template <typename T>
void copy_range(const LoopNest<2>& nest, const TensorView& source, const TensorView& target,
                int64_t begin, int64_t end) {
  const auto strides = nest.inner_strides();
  for_rows(nest, begin, end, [&](const std::array<int64_t, 2>& offsets, int64_t, int64_t count) {
    copy_row(source.as<T>() + offsets[0], strides[0], target.as<T>() + offsets[1], strides[1],
             count);
  });
}

/// Dispatches on the element size.
void copy_any(const LoopNest<2>& nest, const TensorView& source, const TensorView& target,
              int64_t begin, int64_t end) {
  (void)with_bits(source.dtype, [&]<typename T>() {
    copy_range<T>(nest, source, target, begin, end);
    return absl::OkStatus();
  });
}

}  // namespace

void copy_strided(const KernelCall& call, const TensorView& source, const TensorView& target) {
  const auto nest = broadcast_nest<2>(target.sizes, {&source, &target});
  for_blocks(call, nest.numel, kCopyNsPerElement,
             [&](int64_t begin, int64_t end) { copy_any(nest, source, target, begin, end); });
}

void copy_strided(const TensorView& source, const TensorView& target) {
  const auto nest = broadcast_nest<2>(target.sizes, {&source, &target});
  copy_any(nest, source, target, 0, nest.numel);
}

absl::StatusOr<Packed> Packed::of(const KernelCall& call, const TensorView& view) {
  Packed packed;
  if (view.is_contiguous()) {
    packed.data_ = view.data;
    return packed;
  }
  REMORA_ASSIGN_OR_RETURN(packed.copy_, call.scratch(view.numel() * dtype_size(view.dtype)));
  const Dims strides = contiguous_strides(Shape(view.sizes));
  copy_strided(call, view, {packed.copy_.as<std::byte>(), view.dtype, view.sizes, strides});
  packed.data_ = packed.copy_.as<std::byte>();
  return packed;
}

}  // namespace remora::cpu
