#include <algorithm>

#include "kernels/cpu/elementwise.h"

namespace remora::cpu {
namespace {

constexpr double kFillNs = 0.3;
constexpr double kArangeNs = 1.0;

template <typename T>
T scalar_value(const Scalar& value) {
  if constexpr (std::is_same_v<T, float>) {
    // Integers go to f32 directly: through f64 they would round twice.
    return value.is_float() ? static_cast<float>(value.as_double())
                            : static_cast<float>(value.as_int64());
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(value.is_float() ? value.as_double() != 0.0
                                                 : value.as_int64() != 0);
  } else {
    return value.as_int64();
  }
}

}  // namespace

namespace kernels {

absl::Status full(const KernelCall& call) {
  const auto& attrs = call.attributes<dispatch::FullAttrs>();
  return with_type(call.out().dtype, [&]<typename T>() {
    const T value = scalar_value<T>(attrs.value);
    T* out = call.out().as<T>();
    for_blocks(call, call.out().numel(), kFillNs,
               [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
    return absl::OkStatus();
  });
}

absl::Status arange(const KernelCall& call) {
  const auto& attrs = call.attributes<dispatch::ArangeAttrs>();
  if (call.out().dtype == DType::kF32) {
    const double start = attrs.start.as_double();
    const double step = attrs.step.as_double();
    float* out = call.out().as<float>();
    for_blocks(call, attrs.count, kArangeNs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<float>(start + static_cast<double>(i) * step);
      }
    });
    return absl::OkStatus();
  }
  const Wrapping start(attrs.start.as_int64());
  const Wrapping step(attrs.step.as_int64());
  auto* out = call.out().as<int64_t>();
  for_blocks(call, attrs.count, kArangeNs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<int64_t>(start + Wrapping(i) * step);
  });
  return absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
