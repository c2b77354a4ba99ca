// Convolutions and pooling. One-dimensional forms run as two-dimensional ones of height 1.
#include <algorithm>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

/// Runs `layer` over [N, C, H, W]; an input without N gets one for the call.
template <typename Layer>
auto batched(std::string_view function, const Tensor& x, Layer layer) {
  if (x.rank() != 3 && x.rank() != 4) {
    refuse(function, str_cat("takes [N, C, H, W] or [C, H, W], not ", x.shape().str()));
  }
  return layer(x.rank() == 3 ? unsqueeze(x, 0) : x);
}

Tensor unbatched(const Tensor& result, const Tensor& x) {
  return x.rank() == 3 ? squeeze(result, 0) : result;
}

/// [.., C, L] as [.., C, 1, L].
Tensor with_height(std::string_view function, const Tensor& x) {
  if (x.rank() != 2 && x.rank() != 3) {
    refuse(function, str_cat("takes [N, C, L] or [C, L], not ", x.shape().str()));
  }
  return unsqueeze(x, -2);
}

Tensor add_bias(std::string_view function, const Tensor& result, const Tensor& bias) {
  if (!bias.defined()) return result;
  if (bias.rank() != 1 || bias.numel() != result.size(1)) {
    refuse(function, str_cat("bias ", bias.shape().str(), " does not fit ", result.size(1),
                             " output channels"));
  }
  return result + reshape(bias, {1, bias.numel(), 1, 1});
}

/// Refuses what the catalogue's 2^31 bound on extents would not let through, before any sum is
/// formed.
void check_extents(std::string_view function, std::initializer_list<Extent2d> extents) {
  constexpr int64_t kMaxExtent = int64_t{1} << 31;
  for (const Extent2d& extent : extents) {
    if (extent.height < 0 || extent.width < 0 || extent.height > kMaxExtent ||
        extent.width > kMaxExtent) {
      refuse(function, str_cat("the extent ", extent.height, " x ", extent.width,
                               " is negative or too large"));
    }
  }
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  const CallScope scope;
  const dispatch::ConvAttrs attrs{
      options.stride.dims(), options.padding.dims(), options.dilation.dims(), options.groups, {}};
  return batched("conv2d", x, [&](const Tensor& images) {
    const Tensor result = apply(OpCode::conv2d, {images, weight}, attrs);
    return unbatched(add_bias("conv2d", result, bias), x);
  });
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv1dOptions& options) {
  const CallScope scope;
  if (weight.rank() != 3) {
    refuse("conv1d",
           str_cat("the weight has shape ", weight.shape().str(), "; it needs three axes"));
  }
  const Conv2dOptions flat{
      {1, options.stride}, {0, options.padding}, {1, options.dilation}, options.groups};
  return squeeze(conv2d(with_height("conv1d", x), unsqueeze(weight, 2), bias, flat), -2);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  const CallScope scope;
  if (weight.rank() != 4) {
    refuse("conv_transpose2d",
           str_cat("the weight has shape ", weight.shape().str(), "; it needs four axes"));
  }
  if (options.groups < 1) refuse("conv_transpose2d", str_cat(options.groups, " groups"));
  check_extents("conv_transpose2d",
                {options.stride, options.padding, options.output_padding, options.dilation});
  const auto extent = [&](int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                          int64_t dilation, int64_t extra) {
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1;
  };
  return batched("conv_transpose2d", x, [&](const Tensor& images) {
    const Shape result = {
        images.size(0), weight.size(1) * options.groups,
        extent(images.size(2), weight.size(2), options.stride.height, options.padding.height,
               options.dilation.height, options.output_padding.height),
        extent(images.size(3), weight.size(3), options.stride.width, options.padding.width,
               options.dilation.width, options.output_padding.width)};
    const dispatch::ConvAttrs attrs{options.stride.dims(), options.padding.dims(),
                                    options.dilation.dims(), options.groups, result};
    const Tensor spread = apply(OpCode::conv2d_input_grad, {images, weight}, attrs);
    return unbatched(add_bias("conv_transpose2d", spread, bias), x);
  });
}

// -- maximum pooling

std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const Extent2d& kernel,
                                                  const Pool2dOptions& options) {
  const CallScope scope;
  const dispatch::PoolAttrs attrs{kernel.dims(), options.stride.value_or(kernel).dims(),
                                  options.padding.dims(), options.dilation.dims(),
                                  options.ceil_mode};
  return batched("max_pool2d", x, [&](const Tensor& images) {
    const OpOutputs outputs = apply_all(OpCode::max_pool2d, {&images, 1}, attrs);
    return std::pair(unbatched(outputs[0], x), unbatched(outputs[1], x));
  });
}

Tensor max_pool2d(const Tensor& x, const Extent2d& kernel, const Pool2dOptions& options) {
  const dispatch::CallName name;
  return max_pool2d_with_indices(x, kernel, options).first;
}

std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, int64_t kernel,
                                                  std::optional<int64_t> stride, int64_t padding,
                                                  int64_t dilation, bool ceil_mode) {
  const CallScope scope;
  const Pool2dOptions options{
      Extent2d(1, stride.value_or(kernel)), {0, padding}, {1, dilation}, ceil_mode};
  const auto [values, indices] =
      max_pool2d_with_indices(with_height("max_pool1d", x), {1, kernel}, options);
  return {squeeze(values, -2), squeeze(indices, -2)};
}

Tensor max_pool1d(const Tensor& x, int64_t kernel, std::optional<int64_t> stride, int64_t padding,
                  int64_t dilation, bool ceil_mode) {
  const dispatch::CallName name;
  return max_pool1d_with_indices(x, kernel, stride, padding, dilation, ceil_mode).first;
}

// -- average pooling: a convolution with ones, divided by the count of elements

namespace {

/// One axis of an average pooling: padding on each side so that every window is whole.
struct PooledAxis {
  int64_t before;
  int64_t after;  // `before` and what ceil_mode adds
};

PooledAxis pooled_axis(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                       bool ceil_mode) {
  const int64_t room = size + 2 * padding - kernel;
  if (kernel < 1 || stride < 1 || room < 0) {
    refuse("avg_pool2d", str_cat("a window of ", kernel, " with stride ", stride,
                                 " does not fit size ", size, " with padding ", padding));
  }
  if (2 * padding > kernel) {
    refuse("avg_pool2d", str_cat("padding ", padding, " exceeds half the kernel ", kernel));
  }
  int64_t count = (ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
  // As in PyTorch, the last window starts inside the input or its left padding.
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  const int64_t reach = (count - 1) * stride + kernel;
  return {padding, std::max(padding, reach - size - padding)};
}

/// Sums of the windows of [M, 1, H, W].
Tensor window_sums(const Tensor& planes, const Extent2d& kernel, const Extent2d& stride) {
  const Tensor weight = full({1, 1, kernel.height, kernel.width}, 1,
                             planes.device().without_autodiff(), planes.dtype());
  return conv2d(planes, weight, Tensor(), {.stride = stride});
}

}  // namespace

Tensor avg_pool2d(const Tensor& x, const Extent2d& kernel, const AvgPool2dOptions& options) {
  const CallScope scope;
  require_float("avg_pool2d", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return avg_pool2d(f, kernel, options); });
  }
  const Extent2d stride = options.stride.value_or(kernel);
  check_extents("avg_pool2d", {kernel, stride, options.padding});
  if (options.divisor && *options.divisor == 0) refuse("avg_pool2d", "the divisor is 0");
  return batched("avg_pool2d", x, [&](const Tensor& images) {
    const int64_t height = images.size(2);
    const int64_t width = images.size(3);
    const PooledAxis rows = pooled_axis(height, kernel.height, stride.height,
                                        options.padding.height, options.ceil_mode);
    const PooledAxis columns =
        pooled_axis(width, kernel.width, stride.width, options.padding.width, options.ceil_mode);
    const Dims padding = {columns.before, columns.after, rows.before, rows.after};
    const Tensor planes = reshape(images, {images.size(0) * images.size(1), 1, height, width});
    const Tensor sums = window_sums(pad(planes, padding), kernel, stride);
    const Shape result = {images.size(0), images.size(1), sums.size(2), sums.size(3)};
    const bool whole = rows.before == rows.after && columns.before == columns.after;
    const bool padded = options.padding.height != 0 || options.padding.width != 0;
    if (options.divisor || (whole && (options.count_include_pad || !padded))) {
      const int64_t count = options.divisor.value_or(kernel.height * kernel.width);
      return unbatched(reshape(sums / static_cast<double>(count), result), x);
    }
    // Elements counted at the borders: those of the input, with its padding if it is included.
    const Shape plane = {1, 1, height, width};
    const Tensor inside = full(plane, 1, x.device().without_autodiff(), x.dtype());
    const Extent2d& p = options.padding;
    const Dims counted = {p.width, p.width, p.height, p.height};
    const Dims rest = {0, columns.after - p.width, 0, rows.after - p.height};
    const Tensor weights =
        options.count_include_pad ? pad(pad(inside, counted, 1), rest) : pad(inside, padding);
    return unbatched(reshape(sums / window_sums(weights, kernel, stride), result), x);
  });
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel, std::optional<int64_t> stride, int64_t padding,
                  bool ceil_mode, bool count_include_pad) {
  const CallScope scope;
  const AvgPool2dOptions options{Extent2d(1, stride.value_or(kernel)),
                                 {0, padding},
                                 ceil_mode,
                                 count_include_pad,
                                 std::nullopt};
  return squeeze(avg_pool2d(with_height("avg_pool1d", x), {1, kernel}, options), -2);
}

namespace {

void check_factor(std::string_view function, const Tensor& x, int64_t factor) {
  if (x.rank() < 3) refuse(function, str_cat("takes [.., C, H, W], not ", x.shape().str()));
  if (factor < 1 || factor > (1 << 15)) refuse(function, str_cat("the factor is ", factor));
}

Shape leading(const Tensor& x, std::initializer_list<int64_t> rest) {
  Shape shape(std::span(x.shape().sizes()).first(static_cast<size_t>(x.rank() - 3)));
  shape.sizes().insert(shape.sizes().end(), rest);
  return shape;
}

}  // namespace

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  const CallScope scope;
  check_factor("pixel_shuffle", x, factor);
  const int64_t channels = x.size(-3) / (factor * factor);
  if (channels * factor * factor != x.size(-3)) {
    refuse("pixel_shuffle", str_cat(x.size(-3), " channels are no multiple of ", factor * factor));
  }
  const int64_t height = x.size(-2);
  const int64_t width = x.size(-1);
  const Tensor parts = reshape(x, leading(x, {channels, factor, factor, height, width}));
  const Tensor moved = movedim(parts, {-4, -3}, {-3, -1});
  return reshape(moved, leading(x, {channels, height * factor, width * factor}));
}

Tensor pixel_unshuffle(const Tensor& x, int64_t factor) {
  const CallScope scope;
  check_factor("pixel_unshuffle", x, factor);
  const int64_t height = x.size(-2) / factor;
  const int64_t width = x.size(-1) / factor;
  if (height * factor != x.size(-2) || width * factor != x.size(-1)) {
    refuse("pixel_unshuffle", str_cat(x.shape().str(), " is no multiple of ", factor));
  }
  const Tensor parts = reshape(x, leading(x, {x.size(-3), height, factor, width, factor}));
  const Tensor moved = movedim(parts, {-3, -1}, {-4, -3});
  return reshape(moved, leading(x, {x.size(-3) * factor * factor, height, width}));
}

}  // namespace remora
