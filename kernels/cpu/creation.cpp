#include <algorithm>
#include <cstring>

#include "kernels/cpu/rows.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kFillNs = 0.3;
constexpr double kArangeNs = 1.0;

/// The bits of one element of `dtype`. Integers go to floats directly: through f64 they would round
/// twice.
uint64_t element_bits(const Scalar& value, DType dtype) {
  uint64_t bits = 0;
  auto* out = reinterpret_cast<std::byte*>(&bits);
  if (value.is_float()) {
    const double number = value.as_double();
    convert_row(DType::kF64, reinterpret_cast<const std::byte*>(&number), dtype, 1, out);
  } else {
    const int64_t number = value.as_int64();
    convert_row(DType::kI64, reinterpret_cast<const std::byte*>(&number), dtype, 1, out);
  }
  return bits;
}

}  // namespace

namespace kernels {

absl::Status full(const KernelCall& call) {
  const uint64_t bits =
      element_bits(call.attributes<dispatch::FullAttrs>().value, call.out().dtype);
  return with_bits(call.out().dtype, [&]<typename T>() {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    T* out = call.out().as<T>();
    for_blocks(call, call.out().numel(), kFillNs,
               [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
    return absl::OkStatus();
  });
}

absl::Status arange(const KernelCall& call) {
  const auto& attrs = call.attributes<dispatch::ArangeAttrs>();
  const TensorView& out = call.out();
  const bool floating = is_float(out.dtype);
  const double start = attrs.start.as_double();
  const double step = attrs.step.as_double();
  const Wrapping<int64_t> first(attrs.start.as_int64());
  const Wrapping<int64_t> stride(attrs.step.as_int64());
  for_blocks(call, attrs.count, kArangeNs, [&](int64_t begin, int64_t end) {
    double reals[kRowElements];
    int64_t integers[kRowElements];
    for (int64_t at = begin; at < end; at += kRowElements) {
      const int64_t count = std::min(kRowElements, end - at);
      std::byte* target = out.data + at * dtype_size(out.dtype);
      if (floating) {
        for (int64_t i = 0; i < count; ++i) reals[i] = start + static_cast<double>(at + i) * step;
        convert_row(DType::kF64, reinterpret_cast<const std::byte*>(reals), out.dtype, count,
                    target);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          integers[i] = static_cast<int64_t>(first + Wrapping<int64_t>(at + i) * stride);
        }
        convert_row(DType::kI64, reinterpret_cast<const std::byte*>(integers), out.dtype, count,
                    target);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
