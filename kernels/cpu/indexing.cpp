#include "kernels/cpu/index_check.h"

namespace remora::cpu {
namespace {

constexpr double kGatherNs = 1.5;
constexpr double kCheckNs = 0.5;

/// Takes an index as it is; for indices that were looked at before.
struct KnownInRange {
  int64_t operator()(int64_t index) const { return index; }
};

/// True if every index lies in [0, size). What is broadcast is looked at once.
bool all_in_range(const KernelCall& call, const TensorView& index, int64_t size) {
  Dims sizes(index.sizes.begin(), index.sizes.end());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (index.strides[axis] == 0 && sizes[axis] > 1) sizes[axis] = 1;
  }
  const TensorView distinct{index.data, index.dtype, sizes, index.strides};
  const auto nest = broadcast_nest<1>(sizes, {&distinct});
  const int64_t stride = nest.inner_strides()[0];
  std::atomic<bool> outside{false};
  for_blocks(call, nest.numel, kCheckNs, [&](int64_t begin, int64_t end) {
    int64_t bad = 0;
    for_rows(nest, begin, end, [&](const auto& offsets, int64_t, int64_t count) {
      const auto* indices = index.as<const int64_t>() + offsets[0];
      for (int64_t i = 0; i < count; ++i) {
        // Negative numbers are the largest unsigned ones.
        bad |= static_cast<uint64_t>(indices[i * stride]) >= static_cast<uint64_t>(size) ? 1 : 0;
      }
    });
    if (bad != 0) outside.store(true, std::memory_order_relaxed);
  });
  return !outside.load(std::memory_order_relaxed);
}

template <typename T, typename Check>
void gather_all(const KernelCall& call, int64_t axis, Check& check) {
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
        if (strides[1] == 1) {
          std::copy_n(x, count, out);
        } else {
          for (int64_t i = 0; i < count; ++i) out[i] = x[i * strides[1]];
        }
      } else if (strides[0] == 1 && strides[1] == 0) {
        for (int64_t i = 0; i < count; ++i) out[i] = x[check(indexes[i]) * axis_stride];
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
  const int64_t size = call.in(0).size(axis);
  if (all_in_range(call, call.in(1), size)) {
    return with_bits(call.in(0).dtype, [&]<typename T>() {
      KnownInRange check;
      gather_all<T>(call, axis, check);
      return absl::OkStatus();
    });
  }
  IndexCheck check(size);
  return with_bits(call.in(0).dtype, [&]<typename T>() {
    gather_all<T>(call, axis, check);
    return check.failed() ? index_error("gather", call.in(1), axis, size) : absl::OkStatus();
  });
}

}  // namespace kernels
}  // namespace remora::cpu
