#include "client/nn/layers.h"

#include <cmath>

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"

namespace remora::nn {

namespace {

double bound_for(int64_t inputs) {
  return inputs > 0 ? 1.0 / std::sqrt(static_cast<double>(inputs)) : 0.0;
}

Tensor tensor_or_none(const std::optional<Parameter>& parameter) {
  return parameter ? parameter->tensor() : Tensor();
}

void check_sizes(std::string_view layer, std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) {
    if (size < 1) refuse(layer, str_cat("a size is ", size, "; it must be at least 1"));
  }
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, bool bias)
    : weight_(add_parameter("weight", uniform_parameter({out, in}, bound_for(in)))) {
  check_sizes("Linear", {in, out});
  if (bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_for(in)));
}

Tensor Linear::forward(const Tensor& x) const {
  return linear(x, weight_.tensor(), tensor_or_none(bias_));
}

namespace {

Parameter conv_weight(int64_t in, int64_t out, const Extent2d& kernel, int64_t groups) {
  check_sizes("Conv2d", {in, out, kernel.height, kernel.width, groups});
  if (in % groups != 0 || out % groups != 0) {
    refuse("Conv2d", str_cat(groups, " groups do not divide ", in, " and ", out, " channels"));
  }
  const double bound = bound_for(in / groups * kernel.height * kernel.width);
  return uniform_parameter({out, in / groups, kernel.height, kernel.width}, bound);
}

}  // namespace

Conv2d::Conv2d(int64_t in, int64_t out, const Extent2d& kernel, const Conv2dLayerOptions& options)
    : options_{options.stride, options.padding, options.dilation, options.groups},
      weight_(add_parameter("weight", conv_weight(in, out, kernel, options.groups))) {
  const double bound = bound_for(in / options.groups * kernel.height * kernel.width);
  if (options.bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound));
}

Tensor Conv2d::forward(const Tensor& x) const {
  return conv2d(x, weight_.tensor(), tensor_or_none(bias_), options_);
}

Tensor ReLU::forward(const Tensor& x) const { return relu(x); }

Tensor MaxPool2d::forward(const Tensor& x) const { return max_pool2d(x, kernel_, options_); }

Tensor Flatten::forward(const Tensor& x) const { return flatten(x, 1); }

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, p_, training()); }

}  // namespace remora::nn
