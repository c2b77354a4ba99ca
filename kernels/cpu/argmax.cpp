#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/row_reductions.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kArgmaxNs = 1.5;

/// The first of the neighbours that matches; one does.
template <typename T, typename Matches>
int64_t first_match(const T* x, int64_t count, Matches matches) {
  constexpr int64_t kPart = 64;
  int64_t i = 0;
  for (; i + kPart <= count; i += kPart) {  // no early exit, so that it is vectorised
    int found = 0;
    for (int64_t j = 0; j < kPart; ++j) found |= matches(x[i + j]) ? 1 : 0;
    if (found != 0) break;
  }
  while (!matches(x[i])) ++i;
  return i;
}

template <bool kSmallest, typename T>
int64_t arg_extreme_of_row(const T* x, int64_t count) {
  const T extreme = extreme_row<kSmallest>(x, count);
  if (extreme != extreme) return first_match(x, count, [](T value) { return value != value; });
  return first_match(x, count, [extreme](T value) { return value == extreme; });
}

/// The lowest index of the largest, or smallest, element; NaN is beyond all numbers.
template <bool kSmallest, typename T>
int64_t arg_extreme_of(const T* x, int64_t stride, int64_t count) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    if (stride == 1) return arg_extreme_of_row<kSmallest>(x, count);
  }
  int64_t best = 0;
  auto extreme = Element<T>::load(x[0]);
  for (int64_t i = 1; i < count && extreme == extreme; ++i) {
    const auto value = Element<T>::load(x[i * stride]);
    if ((kSmallest ? value < extreme : value > extreme) || value != value) {
      extreme = value;
      best = i;
    }
  }
  return best;
}

template <bool kSmallest>
absl::Status arg_extreme(const KernelCall& call) {
  const auto axis = static_cast<size_t>(call.attributes<dispatch::ArgReduceAttrs>().axis);
  const TensorView& in = call.in(0);
  LoopNest<1> kept;
  kept.push(1, {});
  for (size_t i = 0; i < in.sizes.size(); ++i) {
    if (i != axis) kept.push(in.sizes[i], {in.strides[i]});
  }
  // A rank-0 tensor has no axis: its maximum is its one element.
  const int64_t count = in.sizes.empty() ? 1 : in.sizes[axis];
  const int64_t stride = in.sizes.empty() ? 0 : in.strides[axis];
  const int64_t kept_stride = kept.inner_strides()[0];
  auto* out = call.out().as<int64_t>();
  if (count == 0) {
    std::fill_n(out, kept.numel, 0);
    return absl::OkStatus();
  }
  return with_type(in.dtype, [&]<typename T>() {
    const int64_t per_block = std::max<int64_t>(1, kElementBlock / count);
    const int64_t blocks = (kept.numel + per_block - 1) / per_block;
    const double cost = static_cast<double>(kept.numel) * static_cast<double>(count) * kArgmaxNs;
    call.parallel_for(blocks, cost, [&](int64_t block, int) {
      const int64_t end = std::min(kept.numel, (block + 1) * per_block);
      for_rows(kept, block * per_block, end,
               [&](const auto& offsets, int64_t position, int64_t rows) {
                 for (int64_t i = 0; i < rows; ++i) {
                   out[position + i] = arg_extreme_of<kSmallest>(
                       in.as<const T>() + offsets[0] + i * kept_stride, stride, count);
                 }
               });
    });
    return absl::OkStatus();
  });
}

}  // namespace

namespace kernels {

absl::Status argmax(const KernelCall& call) { return arg_extreme<false>(call); }
absl::Status argmin(const KernelCall& call) { return arg_extreme<true>(call); }

}  // namespace kernels
}  // namespace remora::cpu
