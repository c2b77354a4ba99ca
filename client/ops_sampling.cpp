// Sampling at points, convolution of samples, and bags of table rows.
#include <limits>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Folded back and forth between `low` and `high`.
Tensor reflected(const Tensor& position, double low, double high) {
  const double span = high - low;
  if (span == 0.0) return zeros_like(position);
  const Tensor distance = abs(position - low);
  const Tensor turns = floor(distance / span);
  const Tensor rest = distance - turns * span;
  const Tensor odd = turns - floor(turns * 0.5) * 2.0;
  return where(equal(odd, 0.0), rest + low, high - rest);
}

/// Where points lie along an axis of `size` elements, in elements.
Tensor position_of(const Tensor& coordinate, int64_t size, std::string_view padding,
                   bool align_corners) {
  const auto length = static_cast<double>(size);
  const Tensor position = align_corners ? (coordinate + 1.0) * ((length - 1.0) / 2.0)
                                        : ((coordinate + 1.0) * length - 1.0) / 2.0;
  if (padding == "zeros") return position;
  const Tensor folded = padding == "border" ? position
                        : align_corners     ? reflected(position, 0.0, length - 1.0)
                                            : reflected(position, -0.5, length - 0.5);
  return clip(folded, Operand(0.0), Operand(length - 1.0));
}

/// One neighbour of each point along an axis: its index, and its weight, 0 outside the axis.
struct Neighbour {
  Tensor index, weight;
};
Neighbour neighbour_of(const Tensor& whole, const Tensor& weight, int64_t size) {
  const Tensor inside = logical_and(whole >= 0.0, whole <= static_cast<double>(size - 1));
  return {astype(clip(whole, Operand(0.0), Operand(static_cast<double>(size - 1))), DType::kI64),
          where(inside, weight, 0.0)};
}

/// Both neighbours, for linear interpolation.
std::vector<Neighbour> neighbours_of(const Tensor& position, int64_t size) {
  const Tensor before = floor(position.detach());
  const Tensor share = position - before;
  return {neighbour_of(before, 1.0 - share, size), neighbour_of(before + 1.0, share, size)};
}

/// Of x [N, C, ..], with the neighbours [N, P] of P points along each axis after the second: the
/// sums of the elements at all corners times their weights, [N, C, P].
Tensor weighted_neighbours(const Tensor& x, const std::vector<std::vector<Neighbour>>& axes) {
  const Tensor flat = flatten(x, 2, -1);
  size_t corners = 1;
  for (const std::vector<Neighbour>& sides : axes) corners *= sides.size();
  Tensor total;
  for (size_t corner = 0; corner < corners; ++corner) {
    Tensor index, weight;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Neighbour& side = axes[i][(corner >> i) % axes[i].size()];
      index = i == 0 ? side.index : index * x.size(2 + static_cast<int64_t>(i)) + side.index;
      weight = i == 0 ? side.weight : weight * side.weight;
    }
    const Shape taken = {x.size(0), x.size(1), index.size(1)};
    const Tensor values = gather(flat, 2, broadcast_to(unsqueeze(index, 1), taken));
    const Tensor part = values * unsqueeze(weight, 1);
    total = total.defined() ? total + part : part;
  }
  return total;
}

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, std::string_view mode,
                   std::string_view padding, bool align_corners) {
  const CallScope scope;
  constexpr std::string_view kName = "grid_sample";
  require_float(kName, x.dtype());
  const int64_t spatial = x.rank() - 2;
  const bool fits = (spatial == 2 || spatial == 3) && grid.rank() == x.rank() &&
                    grid.size(0) == x.size(0) && grid.size(-1) == spatial;
  if (!fits || grid.dtype() != x.dtype()) {
    refuse(kName, str_cat("a grid of ", grid.spec().str(), " does not fit ", x.spec().str()));
  }
  if (mode != "bilinear" && mode != "nearest") {
    refuse(kName, str_cat("mode \"", mode, "\" is not bilinear or nearest"));
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    refuse(kName, str_cat("padding \"", padding, "\" is not zeros, border or reflection"));
  }
  for (int64_t axis = 2; axis < x.rank(); ++axis) {
    if (x.size(axis) == 0)
      refuse(kName, str_cat("axis ", axis, " of ", x.shape().str(), " is empty"));
  }
  if (is_half(x.dtype())) {  // which does not hold every position
    return astype(grid_sample(astype(x, DType::kF32), astype(grid, DType::kF32), mode, padding,
                              align_corners),
                  x.dtype());
  }
  Shape points = grid.shape();
  points.sizes().pop_back();
  std::vector<std::vector<Neighbour>> axes;  // by spatial axis
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t size = x.size(2 + i);
    const Tensor coordinate = flatten(select(grid, -1, spatial - 1 - i), 1, -1);
    const Tensor position = position_of(coordinate, size, padding, align_corners);
    if (mode == "nearest") {
      axes.push_back({neighbour_of(round(position.detach()), ones_like(position.inner()), size)});
    } else {
      axes.push_back(neighbours_of(position, size));
    }
  }
  const Tensor total = weighted_neighbours(x, axes);
  Shape result = {x.size(0), x.size(1)};
  for (int64_t axis = 1; axis < points.rank(); ++axis) result.sizes().push_back(points[axis]);
  return reshape(total, result);
}

namespace {

constexpr std::string_view kDeform = "deform_conv2d";

/// One axis of a convolution of samples.
struct DeformAxis {
  int64_t size, kernel, stride, padding, dilation;

  int64_t count() const {                           // of results; refuses what has none
    constexpr int64_t kLargest = int64_t{1} << 31;  // products stay within 64 bits
    const auto lies = [](int64_t value, int64_t least) {
      return value >= least && value < kLargest;
    };
    const bool valid = lies(size, 1) && lies(kernel, 1) && lies(stride, 1) && lies(padding, 0) &&
                       lies(dilation, 1);
    const int64_t room = valid ? size + 2 * padding - dilation * (kernel - 1) - 1 : -1;
    if (room < 0) {
      refuse(kDeform, str_cat("a kernel of ", kernel, ", stride ", stride, ", padding ", padding,
                              ", dilation ", dilation, " does not fit an axis of ", size));
    }
    return room / stride + 1;
  }
  /// Where the taps lie before they are moved, [kernel, count]; f64 holds every one of them.
  Tensor taps(const Tensor& like) const {
    const Device device = like.device().without_autodiff();
    const Tensor first = arange(0, count(), 1, device, DType::kI64) * stride - padding;
    const Tensor tap = arange(0, kernel, 1, device, DType::kI64) * dilation;
    return astype(unsqueeze(tap, 1) + first, like.dtype());
  }
};

}  // namespace

Tensor deform_conv2d(const Tensor& x, const Tensor& offset, const Tensor& weight,
                     const Tensor& bias, const DeformConv2dOptions& options) {
  const CallScope scope;
  require_float(kDeform, x.dtype());
  const bool shaped = x.rank() == 4 && offset.rank() == 4 && weight.rank() == 4 &&
                      weight.size(0) > 0 && weight.size(1) > 0 && x.size(1) % weight.size(1) == 0 &&
                      x.size(1) > 0 && offset.dtype() == x.dtype() && weight.dtype() == x.dtype();
  if (!shaped || weight.size(0) % (x.size(1) / weight.size(1)) != 0) {
    refuse(kDeform, str_cat("x ", x.spec().str(), ", offset ", offset.spec().str(), " and weight ",
                            weight.spec().str(), " do not fit each other"));
  }
  if (bias.defined() && bias.shape() != Shape{weight.size(0)}) {
    refuse(kDeform, str_cat("the bias is ", bias.shape().str(), "; it must be ",
                            Shape{weight.size(0)}.str()));
  }
  const DeformAxis rows = {x.size(2), weight.size(2), options.stride.height, options.padding.height,
                           options.dilation.height};
  const DeformAxis columns = {x.size(3), weight.size(3), options.stride.width,
                              options.padding.width, options.dilation.width};
  const int64_t height = rows.count(), width = columns.count();
  const int64_t batch = x.size(0), channels = x.size(1), outputs = weight.size(0);
  const int64_t taps = rows.kernel * columns.kernel;
  const int64_t parts = offset.size(1) / (2 * taps);  // groups of channels that are moved alike
  if (parts < 1 || channels % parts != 0 ||
      offset.shape() != Shape{batch, 2 * parts * taps, height, width}) {
    refuse(kDeform, str_cat("the offset is ", offset.shape().str(), "; for ", channels,
                            " channels it must be [", batch, ", 2 G ", taps, ", ", height, ", ",
                            width, "], G a divisor of the channels"));
  }
  const Shape factors = {batch, parts * taps, height, width};
  if (options.mask.defined() &&
      (options.mask.shape() != factors || options.mask.dtype() != x.dtype())) {
    refuse(kDeform, str_cat("the mask is ", options.mask.spec().str(), "; it must be ",
                            Spec{x.dtype(), factors}.str()));
  }
  if (is_half(x.dtype())) {  // which does not hold every position
    const auto wide = [](const Tensor& t) { return t.defined() ? astype(t, DType::kF32) : t; };
    DeformConv2dOptions wider = options;
    wider.mask = wide(options.mask);
    return astype(deform_conv2d(wide(x), wide(offset), wide(weight), wide(bias), wider), x.dtype());
  }
  // The points of all taps, [N G, KH, KW, OH, OW].
  const Tensor moves =
      reshape(offset, {batch * parts, rows.kernel, columns.kernel, 2, height, width});
  const Tensor y = select(moves, 3, 0) + reshape(rows.taps(x), {rows.kernel, 1, height, 1});
  const Tensor at = select(moves, 3, 1) + reshape(columns.taps(x), {columns.kernel, 1, width});
  const auto neighbours = [](const Tensor& position, int64_t size) {
    return neighbours_of(flatten(position, 1, -1), size);
  };
  Tensor samples =
      weighted_neighbours(reshape(x, {batch * parts, channels / parts, x.size(2), x.size(3)}),
                          {neighbours(y, x.size(2)), neighbours(at, x.size(3))});
  if (options.mask.defined()) {
    samples = samples * reshape(options.mask, {batch * parts, 1, taps * height * width});
  }
  const int64_t groups = channels / weight.size(1);
  const int64_t depth = weight.size(1) * taps;
  const Tensor result = matmul(reshape(weight, {groups, outputs / groups, depth}),
                               reshape(samples, {batch, groups, depth, height * width}));
  const Tensor planes = reshape(result, {batch, outputs, height, width});
  return bias.defined() ? planes + reshape(bias, {outputs, 1, 1}) : planes;
}

Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets,
                     std::string_view mode, const Tensor& weights, bool include_last_offset,
                     std::optional<int64_t> padding_index) {
  const CallScope scope;
  constexpr std::string_view kName = "embedding_bag";
  if (mode != "sum" && mode != "mean" && mode != "max") {
    refuse(kName, str_cat("mode \"", mode, "\" is not sum, mean or max"));
  }
  if (weights.defined() && (mode != "sum" || weights.shape() != index.shape())) {
    refuse(kName,
           str_cat("weights of ", weights.shape().str(), " for an index of ", index.shape().str(),
                   " in mode ", mode, "; they have the index's shape and go with sum"));
  }
  if (index.rank() != 1 && index.rank() != 2) {
    refuse(kName,
           str_cat("the index has shape ", index.shape().str(), "; it needs one or two axes"));
  }
  if ((index.rank() == 1) != offsets.defined()) {
    refuse(kName, "offsets go with an index of one axis, and only with it");
  }
  // The bag of each index.
  int64_t bags = index.size(0);
  Tensor bag;
  const Device device = index.device().without_autodiff();
  if (offsets.defined()) {
    bags = offsets.numel() - (include_last_offset ? 1 : 0);
    if (offsets.rank() != 1 || bags < 0) {
      refuse(kName, str_cat("offsets of ", offsets.shape().str(), "; a vector is needed"));
    }
    const Tensor numbers = arange(0, index.numel(), 1, device, DType::kI64);
    bag = searchsorted(narrow(offsets, 0, 0, bags), numbers, true) - 1;
  } else {
    const Tensor rows = unsqueeze(arange(0, bags, 1, device, DType::kI64), 1);
    bag = ravel(broadcast_to(rows, index.shape()));
  }
  const Tensor flat = ravel(index);
  Tensor rows = embedding(weight, flat);
  Tensor counted = ones_like(flat, weight.dtype());
  if (padding_index) {
    const int64_t skipped = *padding_index < 0 ? *padding_index + weight.size(0) : *padding_index;
    counted = astype(not_equal(flat, skipped), weight.dtype());
  }
  const Tensor present = unsqueeze(counted, 1) > 0.0;
  if (weights.defined()) rows = rows * unsqueeze(ravel(weights), 1);
  const Tensor totals = full({bags, weight.size(1)}, 0, device, weight.dtype());
  const Tensor count = index_add(full({bags}, 0, device, weight.dtype()), 0, bag, counted);
  if (mode == "max") {
    const double lowest = -std::numeric_limits<double>::infinity();
    const Tensor largest =
        index_reduce(totals, 0, bag, where(present, rows, lowest), "amax", false);
    return where(unsqueeze(count, 1) > 0.0, largest, 0.0);
  }
  const Tensor sums = index_add(totals, 0, bag, where(present, rows, 0.0));
  return mode == "sum" ? sums : sums / unsqueeze(maximum(count, 1.0), 1);
}

}  // namespace remora
