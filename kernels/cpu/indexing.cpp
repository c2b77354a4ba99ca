#include "kernels/cpu/index_check.h"

namespace remora::cpu {
namespace {

constexpr double kGatherNs = 1.5;

template <typename T>
void gather_all(const KernelCall& call, int64_t axis, IndexCheck& check) {
  const TensorView& in = call.in(0);
  const TensorView& index = call.in(1);
  const Dims base_strides = strides_without(in, axis);
  // Only the positions that the index has are walked, so its sizes stand in for the operand's.
  const TensorView base{in.data, in.dtype, index.sizes, base_strides};
  const auto nest = broadcast_nest<2>(index.sizes, {&index, &base});
  const auto& strides = nest.inner_strides();
  const int64_t axis_stride = in.stride(axis);
  for_blocks(call, nest.numel, kGatherNs, [&](int64_t begin, int64_t end) {
    for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
      const auto* indexes = index.as<const int64_t>() + offsets[0];
      const T* x = in.as<const T>() + offsets[1];
      T* out = call.out().as<T>() + position;
      if (strides[0] == 0) {
        x += check(*indexes) * axis_stride;
        for (int64_t i = 0; i < count; ++i) out[i] = x[i * strides[1]];
      } else {
        for (int64_t i = 0; i < count; ++i) {
          out[i] = x[i * strides[1] + check(indexes[i * strides[0]]) * axis_stride];
        }
      }
    });
  });
}

}  // namespace

namespace kernels {

absl::Status gather(const KernelCall& call) {
  const int64_t axis = call.attributes<dispatch::AxisAttrs>().axis;
  IndexCheck check(call.in(0).size(axis));
  return with_bits(call.in(0).dtype, [&]<typename T>() {
    gather_all<T>(call, axis, check);
    return check.failed() ? index_error("gather", call.in(1), axis, call.in(0).size(axis))
                          : absl::OkStatus();
  });
}

}  // namespace kernels
}  // namespace remora::cpu
