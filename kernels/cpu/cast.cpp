#include <cmath>
#include <limits>

#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kCastNs = 1.0;

/// Float to integer truncates and saturates, NaN gives 0; anything to bool is "not zero".
template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_same_v<To, uint8_t>) {
    return static_cast<uint8_t>(x != From(0));
  } else if constexpr (std::is_same_v<To, int64_t> && std::is_same_v<From, float>) {
    if (x != x) return 0;
    if (x >= 0x1p63f) return std::numeric_limits<int64_t>::max();
    if (x <= -0x1p63f) return std::numeric_limits<int64_t>::min();
    return static_cast<int64_t>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

namespace kernels {

absl::Status astype(const KernelCall& call) {
  return with_type(call.in(0).dtype, [&]<typename From>() {
    return with_type(call.out().dtype, [&]<typename To>() {
      const auto nest = broadcast_nest<1>(call.out().sizes, {&call.in(0)});
      const int64_t stride = nest.inner_strides()[0];
      for_blocks(call, nest.numel, kCastNs, [&](int64_t begin, int64_t end) {
        for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
          const From* __restrict x = call.in(0).as<const From>() + offsets[0];
          To* __restrict out = call.out().as<To>() + position;
          for (int64_t i = 0; i < count; ++i) out[i] = convert<To>(x[i * stride]);
        });
      });
      return absl::OkStatus();
    });
  });
}

}  // namespace kernels
}  // namespace remora::cpu
