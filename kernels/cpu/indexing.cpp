#include <atomic>

#include "dispatch/str_cat.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kGatherNs = 1.5;
constexpr double kScatterNs = 2.0;
constexpr int64_t kScatterParts = 16;

/// The error of the first index, in row-major order, outside [0, size).
absl::Status index_error(std::string_view op, const TensorView& index, int64_t axis, int64_t size) {
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
Dims strides_without(const TensorView& view, int64_t axis) {
  Dims strides(view.strides.begin(), view.strides.end());
  strides[static_cast<size_t>(axis)] = 0;
  return strides;
}

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

/// Adds in row-major order of the index; `out` has the index's sizes and stride 0 for the axis.
template <typename T>
void scatter_part(const TensorView& index, const TensorView& source, const TensorView& out,
                  int64_t axis_stride, IndexCheck& check) {
  const auto nest = broadcast_nest<3>(index.sizes, {&index, &source, &out});
  const auto& strides = nest.inner_strides();
  for_rows(nest, 0, nest.numel, [&](const auto& offsets, int64_t, int64_t count) {
    const auto* indexes = index.as<const int64_t>() + offsets[0];
    const T* x = source.as<const T>() + offsets[1];
    T* target = out.as<T>() + offsets[2];
    for (int64_t i = 0; i < count; ++i) {
      T& sum = target[i * strides[2] + check(indexes[i * strides[0]]) * axis_stride];
      sum = Element<T>::store(Element<T>::load(sum) + Element<T>::load(x[i * strides[1]]));
    }
  });
}

/// The largest axis but `axis`; different indexes along it never meet in one target. -1 if there is
/// none.
int64_t parallel_axis(const TensorView& index, int64_t axis) {
  int64_t best = -1;
  for (int64_t i = 0; i < index.rank(); ++i) {
    if (i != axis && (best < 0 || index.size(i) > index.size(best))) best = i;
  }
  return best;
}

template <typename T>
void scatter_all(const KernelCall& call, int64_t axis, IndexCheck& check) {
  const TensorView& index = call.in(1);
  const TensorView& source = call.in(2);
  const TensorView& out = call.out();
  const int64_t axis_stride = out.stride(axis);
  const Dims strides = strides_without(out, axis);
  const int64_t split = parallel_axis(index, axis);
  const int64_t extent = split < 0 ? 1 : index.size(split);
  const int64_t parts = std::min(extent, kScatterParts);
  const auto run_part = [&](int64_t part, int) {
    const int64_t begin = extent * part / parts;
    Dims sizes(index.sizes.begin(), index.sizes.end());
    if (split >= 0) sizes[static_cast<size_t>(split)] = extent * (part + 1) / parts - begin;
    const auto restrict_view = [&](const TensorView& view, std::span<const int64_t> view_strides) {
      const int64_t offset = split < 0 ? 0 : begin * view_strides[static_cast<size_t>(split)];
      return TensorView{view.data + offset * dtype_size(view.dtype), view.dtype, sizes,
                        view_strides};
    };
    scatter_part<T>(restrict_view(index, index.strides), restrict_view(source, source.strides),
                    restrict_view(out, strides), axis_stride, check);
  };
  call.parallel_for(parts, static_cast<double>(index.numel()) * kScatterNs, run_part);
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

absl::Status scatter_add(const KernelCall& call) {
  const int64_t axis = call.attributes<dispatch::AxisAttrs>().axis;
  copy_strided(call, call.in(0), call.out());
  IndexCheck check(call.out().size(axis));
  if (call.out().dtype == DType::kF32) {
    scatter_all<float>(call, axis, check);
  } else if (call.out().dtype == DType::kF64) {
    scatter_all<double>(call, axis, check);
  } else {
    (void)with_bits(call.out().dtype, [&]<typename T>() {
      scatter_all<T>(call, axis, check);
      return absl::OkStatus();
    });
  }
  return check.failed() ? index_error("scatter_add", call.in(1), axis, call.out().size(axis))
                        : absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
