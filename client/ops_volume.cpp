// Convolutions in three dimensions as two-dimensional ones: the depth axis goes into the batch, the
// taps along it into the channels.
#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// One window parameter of an axis: one entry for all axes, or one each.
int64_t at(std::string_view function, std::string_view name, const Dims& values, size_t axis,
           int64_t smallest) {
  if (values.size() != 1 && values.size() != 3) {
    refuse(function, str_cat(name, " has ", values.size(), " entries; one or three are needed"));
  }
  const int64_t value = values[values.size() == 1 ? 0 : axis];
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (value < smallest || value > kLargest) {
    refuse(function, str_cat(name, " ", value, " is not in [", smallest, ", ", kLargest, "]"));
  }
  return value;
}

Extent2d plane(std::string_view function, std::string_view name, const Dims& values,
               int64_t smallest) {
  return {at(function, name, values, 1, smallest), at(function, name, values, 2, smallest)};
}

void check_operands(std::string_view function, const Tensor& x, const Tensor& weight) {
  if (x.rank() != 4 && x.rank() != 5) {
    refuse(function, str_cat("takes [N, C, D, H, W] or [C, D, H, W], not ", x.shape().str()));
  }
  if (weight.rank() != 5) {
    refuse(function,
           str_cat("the weight has shape ", weight.shape().str(), "; it needs five axes"));
  }
  require_float(function, x.dtype());
}

/// The weight with its taps along depth as channels: [A, B, KD, KH, KW] -> [A, B KD, KH, KW].
Tensor flat_weight(const Tensor& weight) { return flatten(weight, 1, 2); }

/// [N D, C, H, W] as [N, C, D, H, W], with the bias added.
Tensor as_volume(std::string_view function, const Tensor& images, int64_t batch, int64_t depth,
                 const Tensor& bias) {
  const Tensor volume = movedim(unflatten(images, 0, {batch, depth}), {1}, {2});
  if (!bias.defined()) return volume;
  if (bias.rank() != 1 || bias.numel() != volume.size(1)) {
    refuse(function, str_cat("bias ", bias.shape().str(), " does not fit ", volume.size(1),
                             " output channels"));
  }
  return volume + reshape(bias, {1, bias.numel(), 1, 1, 1});
}

}  // namespace

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv3dOptions& options) {
  const CallScope scope;
  constexpr std::string_view kName = "conv3d";
  check_operands(kName, x, weight);
  if (x.rank() == 4) return squeeze(conv3d(unsqueeze(x, 0), weight, bias, options), 0);
  const int64_t stride = at(kName, "stride", options.stride, 0, 1);
  const int64_t padding = at(kName, "padding", options.padding, 0, 0);
  const int64_t dilation = at(kName, "dilation", options.dilation, 0, 1);
  const int64_t taps = weight.size(2);
  const int64_t room = x.size(2) + 2 * padding - dilation * (taps - 1) - 1;
  if (taps < 1 || room < 0) {
    refuse(kName, str_cat("a window of ", taps, " with dilation ", dilation, " does not fit depth ",
                          x.size(2), " with padding ", padding));
  }
  const int64_t depth = room / stride + 1;
  const Tensor padded = pad(x, {0, 0, 0, 0, padding, padding});
  Tensors slices;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t first = tap * dilation;
    slices.push_back(slice(padded, 2, first, first + (depth - 1) * stride + 1, stride));
  }
  // [N, C, KD, D, H, W] -> [N D, C KD, H, W]: groups stay together.
  const Tensor stacked = movedim(stack(slices, 2), {3}, {1});
  const Tensor images = flatten(flatten(stacked, 2, 3), 0, 1);
  const Conv2dOptions flat{plane(kName, "stride", options.stride, 1),
                           plane(kName, "padding", options.padding, 0),
                           plane(kName, "dilation", options.dilation, 1), options.groups};
  const Tensor result = conv2d(images, flat_weight(weight), Tensor(), flat);
  return as_volume(kName, result, x.size(0), depth, bias);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose3dOptions& options) {
  const CallScope scope;
  constexpr std::string_view kName = "conv_transpose3d";
  check_operands(kName, x, weight);
  if (x.rank() == 4) return squeeze(conv_transpose3d(unsqueeze(x, 0), weight, bias, options), 0);
  const int64_t stride = at(kName, "stride", options.stride, 0, 1);
  const int64_t padding = at(kName, "padding", options.padding, 0, 0);
  const int64_t extra = at(kName, "output_padding", options.output_padding, 0, 0);
  const int64_t dilation = at(kName, "dilation", options.dilation, 0, 1);
  const int64_t taps = weight.size(2);
  const int64_t depth = x.size(2);
  const int64_t reach = (depth - 1) * stride + 1;  // planes that one tap touches
  const int64_t whole = reach + dilation * (taps - 1) + extra;
  const int64_t result_depth = whole - 2 * padding;
  if (depth < 1 || taps < 1 || result_depth < 1 || whole > dispatch::kMaxElements) {
    refuse(kName, str_cat("padding ", padding, " leaves nothing of a depth of ", whole));
  }
  const ConvTranspose2dOptions flat{plane(kName, "stride", options.stride, 1),
                                    plane(kName, "padding", options.padding, 0),
                                    plane(kName, "output_padding", options.output_padding, 0),
                                    options.groups, plane(kName, "dilation", options.dilation, 1)};
  const Tensor images = flatten(movedim(x, {2}, {1}), 0, 1);
  const Tensor spread = conv_transpose2d(images, flat_weight(weight), Tensor(), flat);
  // [N D, O KD, H, W] -> [N, O, KD, D, H, W]; each tap's planes lie `stride` apart.
  const Tensor parts =
      movedim(unflatten(unflatten(spread, 1, {spread.size(1) / taps, taps}), 0, {x.size(0), depth}),
              {1}, {3});
  Shape shape = {x.size(0), parts.size(1), whole, parts.size(4), parts.size(5)};
  const Tensor blank = full(shape, 0, x.device().without_autodiff(), x.dtype());
  Tensor total;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t first = tap * dilation;
    const Tensor placed =
        slice_assign(blank, select(parts, 2, tap), 2, first, first + reach, stride);
    total = total.defined() ? total + placed : placed;
  }
  const Tensor kept = narrow(total, 2, padding, result_depth);
  return as_volume(kName, flatten(movedim(kept, {2}, {1}), 0, 1), x.size(0), result_depth, bias);
}

}  // namespace remora
