#include "client/nn/convolution.h"

#include "client/apply.h"
#include "client/nn/layer_parts.h"
#include "dispatch/str_cat.h"

namespace remora::nn {

namespace {

/// A weight of [first, second, kernel...], where `first` and `second` are the channels on either
/// side, the second divided by the groups. Its bound counts the second and the window.
struct Channels {
  int64_t first;
  int64_t second;
  int64_t groups;
};

Shape weight_shape(std::string_view layer, const Channels& channels, const Dims& kernel) {
  check_sizes(layer, {channels.first, channels.second, channels.groups});
  check_sizes(layer, kernel);
  if (channels.first % channels.groups != 0 || channels.second % channels.groups != 0) {
    refuse(layer, str_cat(channels.groups, " groups do not divide ", channels.first, " and ",
                          channels.second, " channels"));
  }
  Shape shape = {channels.first, channels.second / channels.groups};
  shape.sizes().insert(shape.sizes().end(), kernel.begin(), kernel.end());
  throw_if_error(check_shape(shape));
  return shape;
}

Dims triple(std::string_view layer, const Dims& kernel) {
  if (kernel.size() == 3) return kernel;
  if (kernel.size() == 1) return Dims(3, kernel[0]);
  refuse(layer, str_cat("the kernel takes one size or three, not ", kernel.size()));
}

double bound_of(const Parameter& weight) {
  return bound_for(weight.shape().numel() / weight.shape()[0]);
}

Parameter weight_of(std::string_view layer, const Channels& channels, const Dims& kernel) {
  const Shape shape = weight_shape(layer, channels, kernel);
  return uniform_parameter(shape, bound_for(shape.numel() / shape[0]));
}

}  // namespace

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel, const Conv1dLayerOptions& options)
    : options_{options.stride, options.padding, options.dilation, options.groups},
      weight_(add_parameter("weight", weight_of("Conv1d", {out, in, options.groups}, {kernel}))) {
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_of(weight_)));
}

Tensor Conv1d::forward(const Tensor& x) const {
  return conv1d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

Conv2d::Conv2d(int64_t in, int64_t out, const Extent2d& kernel, const Conv2dLayerOptions& options)
    : options_{options.stride, options.padding, options.dilation, options.groups},
      weight_(
          add_parameter("weight", weight_of("Conv2d", {out, in, options.groups}, kernel.dims()))) {
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_of(weight_)));
}

Tensor Conv2d::forward(const Tensor& x) const {
  return conv2d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

Conv3d::Conv3d(int64_t in, int64_t out, const Dims& kernel, const Conv3dLayerOptions& options)
    : options_{options.stride, options.padding, options.dilation, options.groups},
      weight_(add_parameter(
          "weight", weight_of("Conv3d", {out, in, options.groups}, triple("Conv3d", kernel)))) {
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_of(weight_)));
}

Tensor Conv3d::forward(const Tensor& x) const {
  return conv3d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, int64_t kernel,
                                 const ConvTranspose1dLayerOptions& options)
    : options_{options.stride, options.padding, options.output_padding, options.groups,
               options.dilation},
      weight_(add_parameter("weight",
                            weight_of("ConvTranspose1d", {in, out, options.groups}, {kernel}))) {
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_of(weight_)));
}

Tensor ConvTranspose1d::forward(const Tensor& x) const {
  return conv_transpose1d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, const Extent2d& kernel,
                                 const ConvTranspose2dLayerOptions& options)
    : options_{options.stride, options.padding, options.output_padding, options.groups,
               options.dilation},
      weight_(add_parameter(
          "weight", weight_of("ConvTranspose2d", {in, out, options.groups}, kernel.dims()))) {
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_of(weight_)));
}

Tensor ConvTranspose2d::forward(const Tensor& x) const {
  return conv_transpose2d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

ConvTranspose3d::ConvTranspose3d(int64_t in, int64_t out, const Dims& kernel,
                                 const ConvTranspose3dLayerOptions& options)
    : options_{options.stride, options.padding, options.output_padding, options.groups,
               options.dilation},
      weight_(add_parameter("weight", weight_of("ConvTranspose3d", {in, out, options.groups},
                                                triple("ConvTranspose3d", kernel)))) {
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_of(weight_)));
}

Tensor ConvTranspose3d::forward(const Tensor& x) const {
  return conv_transpose3d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

}  // namespace remora::nn
