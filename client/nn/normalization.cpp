#include "client/nn/normalization.h"

#include <limits>

#include "client/apply.h"
#include "client/nn/layer_parts.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

using dispatch::CallScope;

namespace {

Parameter constant_buffer(DType dtype, const Shape& shape, double value) {
  return Parameter::buffer(dtype, shape,
                           [=](const Device& device) { return full(shape, value, device, dtype); });
}

void check_eps(std::string_view layer, double eps) {
  if (!(eps >= 0.0)) refuse(layer, str_cat("eps is ", eps, "; it must not be negative"));
}

}  // namespace

ChannelNorm::ChannelNorm(std::string_view name, int64_t channels, const BatchNormOptions& options)
    : options_(options), channels_(channels) {
  check_sizes(name, {channels});
  check_eps(name, options.eps);
  if (options.momentum) check_probability(name, *options.momentum);
  if (options.affine) {
    weight_ = add_parameter("weight", constant_parameter({channels}, 1.0));
    bias_ = add_parameter("bias", constant_parameter({channels}, 0.0));
  }
  if (options.track_running_stats) {
    running_mean_ = add_buffer("running_mean", constant_buffer(DType::kF32, {channels}, 0.0));
    running_var_ = add_buffer("running_var", constant_buffer(DType::kF32, {channels}, 1.0));
    batches_ = add_buffer("num_batches_tracked", constant_buffer(DType::kI64, {}, 0));
  }
}

void ChannelNorm::check_input(std::string_view name, const Tensor& x) const {
  if (x.rank() >= 2 && x.size(1) == channels_) return;
  refuse(name, str_cat("takes [N, ", channels_, ", ...], not ", x.shape().str()));
}

void ChannelNorm::update_running(const Tensor& mean, const Tensor& variance,
                                 const Tensor& weight) const {
  Parameter running_mean = *running_mean_;
  Parameter running_var = *running_var_;
  const Tensor new_mean = lerp(running_mean.tensor().inner(), mean.inner(), weight);
  const Tensor new_var = lerp(running_var.tensor().inner(), variance.inner(), weight);
  running_mean.set(new_mean);
  running_var.set(new_var);
}

BatchNorm::BatchNorm(std::string_view name, int64_t channels, int64_t lowest_rank,
                     int64_t highest_rank, const BatchNormOptions& options)
    : ChannelNorm(name, channels, options),
      name_(name),
      lowest_rank_(lowest_rank),
      highest_rank_(highest_rank) {}

void BatchNorm::count_batch(const Tensor& mean, const Tensor& variance) const {
  const NoGrad guard;
  Parameter batches = *batches_;
  const Tensor count = batches.tensor().inner() + 1;
  update_running(mean, variance,
                 options_.momentum ? constant(mean, *options_.momentum, mean.dtype())
                                   : reciprocal(astype(count, mean.dtype())));
  batches.set(count);
}

Tensor BatchNorm::forward(const Tensor& x) const {
  const CallScope scope;
  check_input(name_, x);
  if (x.rank() < lowest_rank_ || x.rank() > highest_rank_) {
    refuse(name_,
           str_cat("takes ", lowest_rank_, " to ", highest_rank_, " axes, not ", x.shape().str()));
  }
  const Tensor weight = tensor_or_none(weight_);
  const Tensor bias = tensor_or_none(bias_);
  if (!uses_own_statistics()) {
    return batch_norm(x, running_mean_->tensor(), running_var_->tensor(), weight, bias,
                      options_.eps);
  }
  const int64_t count = x.numel() / channels_;
  if (training() && count < 2) {
    refuse(name_, str_cat("one value per channel in ", x.shape().str(),
                          " has no variance; training needs two or more"));
  }
  Dims axes = {0};
  for (int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  const auto [variance, mean] = var_mean(x, axes, 0.0);
  const Tensor result = batch_norm(x, mean, variance, weight, bias, options_.eps);
  if (training() && running_mean_) {
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    count_batch(mean, variance.inner() * unbiased);
  }
  return result;
}

InstanceNorm::InstanceNorm(std::string_view name, int64_t channels, int64_t rank,
                           const InstanceNormOptions& options)
    : ChannelNorm(name, channels,
                  {options.eps, options.momentum, options.affine, options.track_running_stats}),
      name_(name),
      rank_(rank) {}

Tensor InstanceNorm::forward(const Tensor& x) const {
  const CallScope scope;
  if (x.rank() == rank_ - 1) return squeeze(forward(unsqueeze(x, 0)), 0);
  check_input(name_, x);
  if (x.rank() != rank_) {
    refuse(name_, str_cat("takes ", rank_, " axes, not ", x.shape().str()));
  }
  const Tensor weight = tensor_or_none(weight_);
  const Tensor bias = tensor_or_none(bias_);
  if (!uses_own_statistics()) {
    return batch_norm(x, running_mean_->tensor(), running_var_->tensor(), weight, bias,
                      options_.eps);
  }
  const int64_t count = x.size(0) == 0 ? 0 : x.numel() / (x.size(0) * channels_);
  if (training() && count < 2) {
    refuse(name_, str_cat("one value per channel and example in ", x.shape().str(),
                          " has no variance; training needs two or more"));
  }
  const Tensor result = instance_norm(x, weight, bias, options_.eps);
  if (training() && running_mean_) {
    const NoGrad guard;
    Dims axes;
    for (int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
    const auto [variance, mean_of] = var_mean(x.inner(), axes, 1.0);  // [N, C]
    // As in PyTorch, instances are not counted, and without a momentum nothing is taken in.
    update_running(mean(mean_of, 0), mean(variance, 0),
                   constant(x, options_.momentum.value_or(0.0), x.dtype()));
  }
  return result;
}

LayerNorm::LayerNorm(Shape shape, double eps, bool affine, bool bias)
    : shape_(std::move(shape)), eps_(eps) {
  check_sizes("LayerNorm", shape_.sizes());
  check_eps("LayerNorm", eps);
  if (affine) weight_ = add_parameter("weight", constant_parameter(shape_, 1.0));
  if (affine && bias) bias_ = add_parameter("bias", constant_parameter(shape_, 0.0));
}

Tensor LayerNorm::forward(const Tensor& x) const {
  return layer_norm(x, shape_, tensor_or_none(weight_), tensor_or_none(bias_), eps_);
}

RMSNorm::RMSNorm(Shape shape, std::optional<double> eps, bool affine)
    : shape_(std::move(shape)),
      eps_(eps.value_or(static_cast<double>(std::numeric_limits<float>::epsilon()))) {
  check_sizes("RMSNorm", shape_.sizes());
  check_eps("RMSNorm", eps_);
  if (affine) weight_ = add_parameter("weight", constant_parameter(shape_, 1.0));
}

Tensor RMSNorm::forward(const Tensor& x) const {
  return rms_norm(x, shape_, tensor_or_none(weight_), eps_);
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double eps, bool affine)
    : groups_(groups), eps_(eps) {
  check_sizes("GroupNorm", {groups, channels});
  check_eps("GroupNorm", eps);
  if (channels % groups != 0) {
    refuse("GroupNorm", str_cat(groups, " groups do not divide ", channels, " channels"));
  }
  if (affine) {
    weight_ = add_parameter("weight", constant_parameter({channels}, 1.0));
    bias_ = add_parameter("bias", constant_parameter({channels}, 0.0));
  }
}

Tensor GroupNorm::forward(const Tensor& x) const {
  return group_norm(x, groups_, tensor_or_none(weight_), tensor_or_none(bias_), eps_);
}

Tensor LocalResponseNorm::forward(const Tensor& x) const {
  return local_response_norm(x, size_, alpha_, beta_, k_);
}

}  // namespace remora::nn
