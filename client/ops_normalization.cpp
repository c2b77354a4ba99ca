// Normalizations and dropout.
#include "client/apply.h"
#include "client/axes.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// The last axes of x, whose sizes must be `shape`.
Dims last_axes(std::string_view function, const Tensor& x, const Shape& shape) {
  bool fits = shape.rank() >= 1 && shape.rank() <= x.rank();
  Dims axes;
  for (int64_t i = 0; fits && i < shape.rank(); ++i) {
    axes.push_back(x.rank() - shape.rank() + i);
    fits = x.size(axes.back()) == shape[i];
  }
  if (!fits) {
    refuse(function,
           str_cat("the normalized shape ", shape.str(), " is not how ", x.shape().str(), " ends"));
  }
  return axes;
}

void check_affine(std::string_view function, const Tensor& parameter, const Shape& shape) {
  if (!parameter.defined() || parameter.shape() == shape) return;
  refuse(function,
         str_cat("weight or bias has shape ", parameter.shape().str(), ", not ", shape.str()));
}

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor scaled = weight.defined() ? x * weight : x;
  return bias.defined() ? scaled + bias : scaled;
}

Tensor standardized(const Tensor& x, const Tensor& mean, const Tensor& variance, double eps) {
  return (x - mean) / sqrt(variance + eps);
}

/// A per-channel parameter, to be broadcast over [N, C, ...].
Tensor per_channel(std::string_view function, const Tensor& parameter, const Tensor& x) {
  if (!parameter.defined()) return parameter;
  check_affine(function, parameter, Shape{x.size(1)});
  Shape shape(Dims(static_cast<size_t>(x.rank()), 1));
  shape[1] = x.size(1);
  return reshape(parameter, shape);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const CallScope scope;
  require_float("layer_norm", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return layer_norm(f, shape, weight, bias, eps); });
  }
  const Dims axes = last_axes("layer_norm", x, shape);
  check_affine("layer_norm", weight, shape);
  check_affine("layer_norm", bias, shape);
  const auto [variance, mean] = var_mean(x, axes, 0.0, true);
  return affine(standardized(x, mean, variance, eps), weight, bias);
}

Tensor rms_norm(const Tensor& x, const Shape& shape, const Tensor& weight, double eps) {
  const CallScope scope;
  require_float("rms_norm", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return rms_norm(f, shape, weight, eps); });
  }
  const Dims axes = last_axes("rms_norm", x, shape);
  check_affine("rms_norm", weight, shape);
  return affine(x / sqrt(mean(square(x), axes, true) + eps), weight, Tensor());
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const CallScope scope;
  require_float("group_norm", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x,
                       [&](const Tensor& f) { return group_norm(f, groups, weight, bias, eps); });
  }
  if (x.rank() < 2 || groups < 1 || x.size(1) % groups != 0) {
    refuse("group_norm",
           str_cat("the channels of ", x.shape().str(), " do not form ", groups, " groups"));
  }
  Shape grouped = {x.size(0), groups, x.size(1) / groups};
  for (int64_t axis = 2; axis < x.rank(); ++axis) grouped.sizes().push_back(x.size(axis));
  const Tensor parts = reshape(x, grouped);
  Dims axes;
  for (int64_t axis = 2; axis < grouped.rank(); ++axis) axes.push_back(axis);
  const auto [variance, mean] = var_mean(parts, axes, 0.0, true);
  const Tensor result = reshape(standardized(parts, mean, variance, eps), x.shape());
  return affine(result, per_channel("group_norm", weight, x), per_channel("group_norm", bias, x));
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const CallScope scope;
  if (x.rank() < 3) refuse("instance_norm", str_cat("takes [N, C, d...], not ", x.shape().str()));
  return group_norm(x, x.size(1), weight, bias, eps);
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const CallScope scope;
  require_float("batch_norm", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(
        x, [&](const Tensor& f) { return batch_norm(f, mean, variance, weight, bias, eps); });
  }
  if (x.rank() < 2) refuse("batch_norm", str_cat("takes [N, C, ...], not ", x.shape().str()));
  if (mean.defined() != variance.defined()) {
    refuse("batch_norm", "mean and variance come together or not at all");
  }
  Tensor center = per_channel("batch_norm", mean, x);
  Tensor spread = per_channel("batch_norm", variance, x);
  if (!mean.defined()) {
    Dims axes = {0};
    for (int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
    std::tie(spread, center) = var_mean(x, axes, 0.0, true);
  }
  return affine(standardized(x, center, spread, eps), per_channel("batch_norm", weight, x),
                per_channel("batch_norm", bias, x));
}

}  // namespace remora
