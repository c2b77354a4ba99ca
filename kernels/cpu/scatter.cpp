// Scattering: the elements of a source are combined, in index order, with those of a copy of the
// first operand. Work is cut along an axis whose positions never share a target.
#include <type_traits>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/index_check.h"

namespace remora::cpu {
namespace {

constexpr double kScatterNs = 2.0;
constexpr int64_t kScatterParts = 16;

struct Assign {
  template <typename T>
  static T apply(T, T x) {
    return x;
  }
};

/// A function of what elements are computed in.
#define REMORA_COMBINE(name, expression)                                               \
  struct name {                                                                        \
    template <typename T>                                                              \
    static T apply(T held, T x) {                                                      \
      const auto a = Element<T>::load(held);                                           \
      const auto b = Element<T>::load(x);                                              \
      return Element<T>::store(static_cast<typename Element<T>::Compute>(expression)); \
    }                                                                                  \
  };
REMORA_COMBINE(Add, a + b)
REMORA_COMBINE(Multiply, a* b)
REMORA_COMBINE(Smallest, r_min(a, b))
REMORA_COMBINE(Largest, r_max(a, b))
#undef REMORA_COMBINE

/// Combines in row-major order of the index; `out` has the index's sizes and stride 0 for the axis.
template <typename Combine, typename T>
void scatter_part(const TensorView& index, const TensorView& source, const TensorView& out,
                  int64_t axis_stride, IndexCheck& check) {
  const auto nest = broadcast_nest<3>(index.sizes, {&index, &source, &out});
  const auto& strides = nest.inner_strides();
  for_rows(nest, 0, nest.numel, [&](const auto& offsets, int64_t, int64_t count) {
    const auto* indexes = index.as<const int64_t>() + offsets[0];
    const T* x = source.as<const T>() + offsets[1];
    T* target = out.as<T>() + offsets[2];
    if (strides[0] == 0 && strides[1] == 1 && strides[2] == 1) {  // a whole row to one place
      T* __restrict row = target + check(*indexes) * axis_stride;
      const T* __restrict added = x;
      for (int64_t i = 0; i < count; ++i) row[i] = Combine::apply(row[i], added[i]);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      T& held = target[i * strides[2] + check(indexes[i * strides[0]]) * axis_stride];
      held = Combine::apply(held, x[i * strides[1]]);
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

template <typename Combine, typename T>
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
    scatter_part<Combine, T>(restrict_view(index, index.strides),
                             restrict_view(source, source.strides), restrict_view(out, strides),
                             axis_stride, check);
  };
  call.parallel_for(parts, static_cast<double>(index.numel()) * kScatterNs, run_part);
}

template <typename Combine>
absl::Status run_scatter(std::string_view op, const KernelCall& call, int64_t axis) {
  copy_strided(call, call.in(0), call.out());
  IndexCheck check(call.out().size(axis));
  const absl::Status status = with_type(call.out().dtype, [&]<typename T>() {
    scatter_all<Combine, T>(call, axis, check);
    return absl::OkStatus();
  });
  if (!check.failed()) return status;
  return index_error(op, call.in(1), axis, call.out().size(axis));
}

}  // namespace

namespace kernels {

absl::Status scatter_add(const KernelCall& call) {
  return run_scatter<Add>("scatter_add", call, call.attributes<dispatch::AxisAttrs>().axis);
}

absl::Status scatter(const KernelCall& call) {
  const int64_t axis = call.attributes<dispatch::AxisAttrs>().axis;
  copy_strided(call, call.in(0), call.out());
  IndexCheck check(call.out().size(axis));
  (void)with_bits(call.out().dtype, [&]<typename T>() {
    scatter_all<Assign, T>(call, axis, check);
    return absl::OkStatus();
  });
  if (!check.failed()) return absl::OkStatus();
  return index_error("scatter", call.in(1), axis, call.out().size(axis));
}

absl::Status scatter_reduce(const KernelCall& call) {
  const auto& attrs = call.attributes<dispatch::ScatterAttrs>();
  switch (attrs.reduction) {
    case 0:
      return run_scatter<Multiply>("scatter_reduce", call, attrs.axis);
    case 1:
      return run_scatter<Smallest>("scatter_reduce", call, attrs.axis);
    default:
      return run_scatter<Largest>("scatter_reduce", call, attrs.axis);
  }
}

}  // namespace kernels
}  // namespace remora::cpu
