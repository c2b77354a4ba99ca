// Pooling in three dimensions and adaptive pooling: all windows are gathered at once, one axis
// after the other, and reduced together.
#include <algorithm>
#include <limits>
#include <numeric>

#include "client/apply.h"
#include "client/host_list.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Which elements of an axis each window has: all windows have as many.
struct AxisWindows {
  int64_t count = 0;
  int64_t size = 0;
  std::vector<int64_t> index;  // count * size
};

/// [.., s1, .., sk] -> [.., w1, .., wk, product of the windows' sizes].
Tensor gather_windows(const Tensor& x, const std::vector<AxisWindows>& axes) {
  const auto spatial = static_cast<int64_t>(axes.size());
  const int64_t lead = x.rank() - spatial;
  Tensor windows = x;
  for (int64_t i = spatial - 1; i >= 0; --i) {
    const auto& [count, size, index] = axes[static_cast<size_t>(i)];
    windows = index_select(windows, lead + i, from_data(index, {count * size}, x.device()));
    windows = unflatten(windows, lead + i, {count, size});
  }
  Dims order(static_cast<size_t>(lead));
  std::iota(order.begin(), order.end(), 0);
  for (const int64_t part : {int64_t{0}, int64_t{1}}) {
    for (int64_t i = 0; i < spatial; ++i) order.push_back(lead + 2 * i + part);
  }
  return flatten(permute(windows, order), lead + spatial, -1);
}

/// Indices of the flattened last axes, as a tensor of those axes.
Tensor plane_of_indices(const Tensor& x, int64_t spatial) {
  Shape plane;
  for (int64_t axis = x.rank() - spatial; axis < x.rank(); ++axis)
    plane.sizes().push_back(x.size(axis));
  return reshape(arange(0, plane.numel(), 1, x.device(), DType::kI64), plane);
}

/// The maximum of each window and, from windows over the indices, where it is.
std::pair<Tensor, Tensor> max_of_windows(const Tensor& windows, const Tensor& index_windows) {
  const auto [values, winner] = max(windows, -1, /*keepdims=*/true);
  const Tensor indices = gather(broadcast_to(index_windows, windows.shape()), -1, winner);
  return {squeeze(values, -1), squeeze(indices, -1)};
}

void check_rank(std::string_view function, const Tensor& x, int64_t spatial) {
  require_float(function, x.dtype());
  const bool fits = x.rank() == spatial + 1 || x.rank() == spatial + 2;
  const int64_t batch_axes = x.rank() == spatial + 2 ? 1 : 0;
  bool empty = false;
  for (int64_t axis = batch_axes; fits && axis < x.rank(); ++axis)
    empty = empty || x.size(axis) == 0;
  if (!fits || empty) {
    refuse(function, str_cat("takes ", spatial + 1, " or ", spatial + 2,
                             " axes, none but the batch empty, not ", x.shape().str()));
  }
}

// ---------------------------------------------------------------------------------- three
// dimensions

constexpr int64_t kSpatial = 3;

/// One window parameter of an axis: `values` has one entry per axis or one for all.
int64_t at(std::string_view function, std::string_view name, const Dims& values, int64_t axis) {
  if (values.size() != 1 && values.size() != kSpatial) {
    refuse(function, str_cat(name, " takes one number or three, not ", values.size()));
  }
  return values[values.size() == 1 ? 0 : static_cast<size_t>(axis)];
}

struct PoolAxis {
  int64_t size, kernel, stride, padding, dilation;
  int64_t count = 0;       // windows
  int64_t padded_end = 0;  // elements to add at the end so that the last window is whole
};

PoolAxis pool_axis(std::string_view function, PoolAxis axis, bool ceil_mode) {
  const auto& [size, kernel, stride, padding, dilation, count, end] = axis;
  constexpr int64_t kLargest = int64_t{1} << 31;  // their products stay within 64 bits
  const auto is_size = [](int64_t value) { return value > 0 && value < kLargest; };
  if (!is_size(kernel) || !is_size(stride) || !is_size(dilation) || padding < 0 ||
      padding > kernel / 2) {
    refuse(function,
           str_cat("kernel ", kernel, ", stride ", stride, ", padding ", padding, ", dilation ",
                   dilation, ": sizes lie between 1 and 2^31, the padding ",
                   "between 0 and half the kernel"));
  }
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0)
    refuse(function, str_cat("a window of ", kernel, " does not fit an axis of ", size));
  axis.count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (axis.count - 1) * stride >= size + padding) --axis.count;
  const int64_t reach = (axis.count - 1) * stride + dilation * (kernel - 1) + 1;
  axis.padded_end = std::max(padding, reach - size - padding);
  check_host_list(function, axis.count, kernel);
  return axis;
}

AxisWindows windows_of(const PoolAxis& axis) {
  AxisWindows windows{axis.count, axis.kernel, {}};
  for (int64_t window = 0; window < axis.count; ++window) {
    for (int64_t i = 0; i < axis.kernel; ++i) {
      windows.index.push_back(window * axis.stride + i * axis.dilation);
    }
  }
  return windows;
}

std::vector<PoolAxis> pool_axes(std::string_view function, const Tensor& x, const Dims& kernel,
                                const std::optional<Dims>& stride, const Dims& padding,
                                const Dims& dilation, bool ceil_mode) {
  check_rank(function, x, kSpatial);
  std::vector<PoolAxis> axes;
  for (int64_t i = 0; i < kSpatial; ++i) {
    axes.push_back(
        pool_axis(function,
                  {x.size(i - kSpatial), at(function, "kernel", kernel, i),
                   at(function, "stride", stride.value_or(kernel), i),
                   at(function, "padding", padding, i), at(function, "dilation", dilation, i)},
                  ceil_mode));
  }
  return axes;
}

Tensor pool_windows(const Tensor& x, const std::vector<PoolAxis>& axes, Scalar fill) {
  Dims widths;
  std::vector<AxisWindows> windows;
  windows.reserve(axes.size());
  for (const PoolAxis& axis : axes) windows.push_back(windows_of(axis));
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    widths.push_back(axis->padding);
    widths.push_back(axis->padded_end);
  }
  return gather_windows(pad(x, widths, fill), windows);
}

/// How many elements each window counts: sizes of the axes' windows, multiplied out.
Tensor window_counts(const Tensor& x, const std::vector<PoolAxis>& axes, bool include_padding) {
  Tensor counts = ones(Shape(), x.device().without_autodiff(), x.dtype());
  for (const PoolAxis& axis : axes) {
    std::vector<double> sizes;
    for (int64_t window = 0; window < axis.count; ++window) {
      const int64_t begin = window * axis.stride - axis.padding;
      const int64_t end = begin + axis.kernel;
      const int64_t size = include_padding ? std::min(end, axis.size + axis.padding) - begin
                                           : std::min(end, axis.size) - std::max<int64_t>(begin, 0);
      sizes.push_back(static_cast<double>(size));
    }
    counts = unsqueeze(counts, -1) * host_numbers(sizes, {axis.count}, x);
  }
  return counts;
}

// ------------------------------------------------------------------------------------------
// adaptive

/// Window i of n over an axis: [floor(i size / n), ceil((i + 1) size / n)). Shorter windows repeat
/// their last element, which changes no maximum and gives way to the first index.
AxisWindows adaptive_windows(int64_t size, int64_t count) {
  AxisWindows windows{count, 0, {}};
  const auto begin = [&](int64_t i) { return i * size / count; };
  const auto end = [&](int64_t i) { return ((i + 1) * size + count - 1) / count; };
  for (int64_t i = 0; i < count; ++i) windows.size = std::max(windows.size, end(i) - begin(i));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < windows.size; ++k) {
      windows.index.push_back(std::min(begin(i) + k, end(i) - 1));
    }
  }
  return windows;
}

/// [size, count]: column i averages window i.
std::vector<double> averaging_matrix(int64_t size, int64_t count) {
  std::vector<double> matrix(static_cast<size_t>(size * count), 0.0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * size / count;
    const int64_t end = ((i + 1) * size + count - 1) / count;
    for (int64_t k = begin; k < end; ++k) {
      matrix[static_cast<size_t>(k * count + i)] = 1.0 / static_cast<double>(end - begin);
    }
  }
  return matrix;
}

/// The wanted size of each of the last `spatial` axes.
Dims resolve(std::string_view function, const Tensor& x, const AdaptiveSizes& sizes,
             int64_t spatial) {
  check_rank(function, x, spatial);
  if (sizes.size() != 1 && static_cast<int64_t>(sizes.size()) != spatial) {
    refuse(function, str_cat("takes one size or ", spatial, ", not ", sizes.size()));
  }
  Dims resolved;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t size = x.size(i - spatial);
    const int64_t wanted = sizes[sizes.size() == 1 ? 0 : static_cast<size_t>(i)].value_or(size);
    if (wanted <= 0) refuse(function, str_cat("the size ", wanted, " is not above 0"));
    check_host_list(function, size, wanted);
    resolved.push_back(wanted);
  }
  return resolved;
}

Tensor adaptive_avg(std::string_view function, const Tensor& x, const AdaptiveSizes& sizes,
                    int64_t spatial) {
  const CallScope scope(function);
  if (is_half(x.dtype())) {
    return through_f32(x,
                       [&](const Tensor& f) { return adaptive_avg(function, f, sizes, spatial); });
  }
  const Dims wanted = resolve(function, x, sizes, spatial);
  Tensor result = x;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t axis = x.rank() - spatial + i;
    const int64_t count = wanted[static_cast<size_t>(i)];
    if (count == x.size(axis)) continue;
    const Tensor matrix =
        host_numbers(averaging_matrix(x.size(axis), count), {x.size(axis), count}, x);
    result = swapaxes(matmul(swapaxes(result, axis, -1), matrix), axis, -1);
  }
  return result;
}

std::pair<Tensor, Tensor> adaptive_max(std::string_view function, const Tensor& x,
                                       const AdaptiveSizes& sizes, int64_t spatial) {
  const CallScope scope(function);
  const Dims wanted = resolve(function, x, sizes, spatial);
  std::vector<AxisWindows> windows;
  for (int64_t i = 0; i < spatial; ++i) {
    windows.push_back(adaptive_windows(x.size(i - spatial), wanted[static_cast<size_t>(i)]));
  }
  return max_of_windows(gather_windows(x, windows),
                        gather_windows(plane_of_indices(x, spatial), windows));
}

}  // namespace

std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, const Dims& kernel,
                                                  const Pool3dOptions& options) {
  const CallScope scope;
  const std::vector<PoolAxis> axes =
      pool_axes("max_pool3d", x, kernel, options.stride, options.padding, options.dilation,
                options.ceil_mode);
  return max_of_windows(pool_windows(x, axes, -std::numeric_limits<double>::infinity()),
                        pool_windows(plane_of_indices(x, kSpatial), axes, 0));
}

Tensor max_pool3d(const Tensor& x, const Dims& kernel, const Pool3dOptions& options) {
  const dispatch::CallName name;
  return max_pool3d_with_indices(x, kernel, options).first;
}

Tensor avg_pool3d(const Tensor& x, const Dims& kernel, const AvgPool3dOptions& options) {
  const CallScope scope;
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return avg_pool3d(f, kernel, options); });
  }
  const std::vector<PoolAxis> axes = pool_axes("avg_pool3d", x, kernel, options.stride,
                                               options.padding, Dims{1}, options.ceil_mode);
  if (options.divisor == 0) refuse("avg_pool3d", "the divisor must not be 0");
  const Tensor total = sum(pool_windows(x, axes, 0.0), -1);
  if (options.divisor) return total / *options.divisor;
  return total / window_counts(x, axes, options.count_include_pad);
}

Tensor adaptive_avg_pool1d(const Tensor& x, const AdaptiveSizes& sizes) {
  return adaptive_avg("adaptive_avg_pool1d", x, sizes, 1);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const AdaptiveSizes& sizes) {
  return adaptive_avg("adaptive_avg_pool2d", x, sizes, 2);
}
Tensor adaptive_avg_pool3d(const Tensor& x, const AdaptiveSizes& sizes) {
  return adaptive_avg("adaptive_avg_pool3d", x, sizes, 3);
}
std::pair<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, const AdaptiveSizes& sizes) {
  return adaptive_max("adaptive_max_pool1d", x, sizes, 1);
}
std::pair<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, const AdaptiveSizes& sizes) {
  return adaptive_max("adaptive_max_pool2d", x, sizes, 2);
}
std::pair<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, const AdaptiveSizes& sizes) {
  return adaptive_max("adaptive_max_pool3d", x, sizes, 3);
}

Tensor max_unpool(const Tensor& x, const Tensor& indices, const Shape& shape) {
  const CallScope scope;
  const int64_t spatial = shape.rank() - 2;
  if (indices.shape() != x.shape() || spatial < 1 || x.rank() != shape.rank() ||
      x.size(0) != shape[0] || x.size(1) != shape[1]) {
    refuse("max_unpool", str_cat("values ", x.shape().str(), ", indices ", indices.shape().str(),
                                 " and the result's shape ", shape.str(), " do not fit together"));
  }
  require_shape("max_unpool", shape);
  const Tensor index = flatten(indices, 2);
  const Tensor values = flatten(x, 2);
  Shape plane(std::span(shape.sizes()).subspan(0, 2));
  plane.sizes().push_back(Shape(std::span(shape.sizes()).subspan(2)).numel());
  const Tensor blank = new_zeros(x.detach(), plane);
  const Tensor total = scatter_add(blank, 2, index, values);
  const Tensor count = scatter_add(blank, 2, index, ones_like(values.detach()));
  // Equal values that meet are counted once, yet each keeps the whole gradient of its place.
  const Tensor once = total.detach() / maximum(count, 1.0);
  return reshape(once + (total - total.detach()), shape);
}

namespace {

/// The size that pooling came from, of axes after the channels.
Dims unpooled_size(std::string_view function, const Tensor& x, int64_t spatial, const Dims& kernel,
                   const MaxUnpoolOptions& options) {
  const auto one_of = [&](std::string_view name, const Dims& values, int64_t least, int64_t axis) {
    constexpr int64_t kLargest = int64_t{1} << 31;  // products stay within 64 bits
    if (values.size() != 1 && static_cast<int64_t>(values.size()) != spatial) {
      refuse(function, str_cat(name, " takes one number or ", spatial, ", not ", values.size()));
    }
    const int64_t value = values[values.size() == 1 ? 0 : static_cast<size_t>(axis)];
    if (value < least || value >= kLargest) {
      refuse(function, str_cat(name, " is ", value, "; it must lie between ", least, " and 2^31"));
    }
    return value;
  };
  Dims size = options.size.value_or(Dims());
  if (static_cast<int64_t>(size.size()) == x.rank()) {
    size.erase(size.begin(), size.end() - spatial);
  }
  if (options.size && static_cast<int64_t>(size.size()) != spatial) {
    refuse(function, str_cat("a size of ", size.size(), " axes for ", x.shape().str()));
  }
  Dims result;
  for (int64_t axis = 0; axis < spatial; ++axis) {
    const int64_t window = one_of("the kernel", kernel, 1, axis);
    const int64_t stride = options.stride ? one_of("the stride", *options.stride, 1, axis) : window;
    const int64_t padding = one_of("the padding", options.padding, 0, axis);
    const int64_t least = (x.size(x.rank() - spatial + axis) - 1) * stride - 2 * padding + window;
    const int64_t chosen = options.size ? size[static_cast<size_t>(axis)] : least;
    if (chosen <= least - stride || chosen >= least + stride || chosen < 1) {
      refuse(function, str_cat("axis ", axis, " of the size is ", chosen, "; it must lie between ",
                               least - stride, " and ", least + stride, " and above 0"));
    }
    result.push_back(chosen);
  }
  return result;
}

Tensor unpool(std::string_view function, const Tensor& x, const Tensor& indices, int64_t spatial,
              const Dims& kernel, const MaxUnpoolOptions& options) {
  check_rank(function, x, spatial);
  const Dims size = unpooled_size(function, x, spatial, kernel, options);
  const bool single = x.rank() == spatial + 1;
  const Tensor values = single ? unsqueeze(x, 0) : x;
  Shape shape = {values.size(0), values.size(1)};
  for (const int64_t length : size) shape.sizes().push_back(length);
  const Tensor result = max_unpool(values, single ? unsqueeze(indices, 0) : indices, shape);
  return single ? squeeze(result, 0) : result;
}

}  // namespace

Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const Dims& kernel,
                    const MaxUnpoolOptions& options) {
  const CallScope scope;
  return unpool("max_unpool1d", x, indices, 1, kernel, options);
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const Dims& kernel,
                    const MaxUnpoolOptions& options) {
  const CallScope scope;
  return unpool("max_unpool2d", x, indices, 2, kernel, options);
}

Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const Dims& kernel,
                    const MaxUnpoolOptions& options) {
  const CallScope scope;
  return unpool("max_unpool3d", x, indices, 3, kernel, options);
}

}  // namespace remora
