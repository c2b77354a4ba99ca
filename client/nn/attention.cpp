#include "client/nn/attention.h"

#include <cmath>
#include <limits>

#include "client/apply.h"
#include "client/nn/initialization.h"
#include "client/nn/layer_parts.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

using dispatch::CallScope;

namespace {

constexpr std::string_view kName = "MultiheadAttention";

Parameter xavier_parameter(const Shape& shape) {
  Parameter parameter = constant_parameter(shape, 0.0);
  init::xavier_uniform(parameter);
  return parameter;
}

/// A mask as what is added to the scores.
Tensor added_mask(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::kBool) return astype(mask, dtype);
  const Tensor zero = zeros(mask.shape(), mask.device().without_autodiff(), dtype);
  return masked_fill(zero, mask, -std::numeric_limits<double>::infinity());
}

void check_sequence(std::string_view what, const Tensor& x, int64_t width) {
  if (x.rank() == 3 && x.size(2) == width) return;
  refuse(kName, str_cat("the ", what, " is ", x.shape().str(),
                        "; it must have three axes, the last ", "of size ", width));
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t width, int64_t heads,
                                       const MultiheadAttentionOptions& options)
    : width_(width), heads_(heads), options_(options) {
  check_sizes(kName, {width, heads, options.key_width.value_or(width),
                      options.value_width.value_or(width)});
  check_probability(kName, options.dropout);
  if (width % heads != 0) refuse(kName, str_cat(heads, " heads do not divide the width ", width));
  const int64_t key_width = options.key_width.value_or(width);
  const int64_t value_width = options.value_width.value_or(width);
  if (key_width == width && value_width == width) {
    in_weight_ = add_parameter("in_proj_weight", xavier_parameter({3 * width, width}));
  } else {
    query_weight_ = add_parameter("q_proj_weight", xavier_parameter({width, width}));
    key_weight_ = add_parameter("k_proj_weight", xavier_parameter({width, key_width}));
    value_weight_ = add_parameter("v_proj_weight", xavier_parameter({width, value_width}));
  }
  if (options.bias) in_bias_ = add_parameter("in_proj_bias", constant_parameter({3 * width}, 0.0));
  if (options.add_bias_kv) {
    bias_key_ = add_parameter("bias_k", constant_parameter({1, 1, width}, 0.0));
    bias_value_ = add_parameter("bias_v", constant_parameter({1, 1, width}, 0.0));
    init::xavier_normal(*bias_key_);
    init::xavier_normal(*bias_value_);
  }
  out_ = add_module_of("out_proj", Linear(width, width, options.bias));
  if (options.bias) init::zeros(*out_->bias());
}

Tensor MultiheadAttention::batch_first(const Tensor& x) const {
  return options_.batch_first ? x : transpose(x, 0, 1);
}

MultiheadAttention::Projected MultiheadAttention::project(const Tensor& query, const Tensor& key,
                                                          const Tensor& value,
                                                          const AttentionMasks& masks) const {
  check_sequence("query", query, width_);
  check_sequence("key", key, options_.key_width.value_or(width_));
  check_sequence("value", value, options_.value_width.value_or(width_));
  const auto part = [&](const std::optional<Parameter>& own, int64_t index) {
    if (own) return own->tensor();
    return narrow(in_weight_->tensor(), 0, index * width_, width_);
  };
  const auto bias = [&](int64_t index) {
    return in_bias_ ? narrow(in_bias_->tensor(), 0, index * width_, width_) : Tensor();
  };
  const Projected result = {linear(batch_first(query), part(query_weight_, 0), bias(0)),
                            linear(batch_first(key), part(key_weight_, 1), bias(1)),
                            linear(batch_first(value), part(value_weight_, 2), bias(2))};
  const int64_t batch = result.query.size(0);
  const int64_t source = result.key.size(1);
  if (result.key.size(0) != batch || result.value.size(0) != batch ||
      result.value.size(1) != source) {
    refuse(kName, str_cat("query ", query.shape().str(), ", key ", key.shape().str(), " and value ",
                          value.shape().str(), " do not fit each other"));
  }
  if (masks.key_padding.defined() && masks.key_padding.shape() != Shape{batch, source}) {
    refuse(kName, str_cat("the key padding mask is ", masks.key_padding.shape().str(),
                          "; it must be ", Shape{batch, source}.str()));
  }
  return result;
}

/// [N, L, width] as [N, heads, L, width / heads].
Tensor MultiheadAttention::heads_of(const Tensor& x) const {
  return permute(unflatten(x, -1, {heads_, width_ / heads_}), {0, 2, 1, 3});
}

/// The output of [N, heads, L, width / heads].
Tensor MultiheadAttention::joined(const Tensor& heads) const {
  const Tensor side_by_side = permute(heads, {0, 2, 1, 3});
  return batch_first((*out_)(reshape(side_by_side, {heads.size(0), heads.size(2), width_})));
}

void MultiheadAttention::extend(Projected& projected, AttentionMasks& masks) const {
  const auto append = [&](const Tensor& key, const Tensor& value) {  // [1, 1, width]
    const Shape shape = {projected.key.size(0), 1, width_};
    projected.key = concat({projected.key, broadcast_to(key, shape)}, 1);
    projected.value = concat({projected.value, broadcast_to(value, shape)}, 1);
    const Dims column = {0, 1};  // of false, or of 0
    if (masks.attention.defined()) masks.attention = pad(masks.attention, column);
    if (masks.key_padding.defined()) masks.key_padding = pad(masks.key_padding, column);
  };
  if (bias_key_) append(bias_key_->tensor(), bias_value_->tensor());
  if (options_.add_zero_attn) {
    const Tensor zero = new_zeros(projected.key.inner(), {1, 1, width_});
    append(zero, zero);
  }
}

AttentionResult MultiheadAttention::operator()(const Tensor& query, const Tensor& key,
                                               const Tensor& value,
                                               const AttentionMasks& given) const {
  const CallScope scope;
  AttentionMasks masks = given;
  Projected projected = project(query, key, value, masks);
  extend(projected, masks);
  const auto& [q, k, v] = projected;
  const int64_t batch = q.size(0);
  const int64_t length = q.size(1);
  const int64_t source = k.size(1);
  const int64_t head_width = width_ / heads_;
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_width));
  Tensor scores = matmul(flatten(heads_of(q * scale), 0, 1),
                         transpose(flatten(heads_of(k), 0, 1)));  // [N * heads, L, S]
  if (masks.attention.defined()) scores = scores + added_mask(masks.attention, scores.dtype());
  if (masks.key_padding.defined()) {
    const Tensor masked =
        reshape(added_mask(masks.key_padding, scores.dtype()), {batch, 1, 1, source});
    const Tensor split = reshape(scores, {batch, heads_, length, source});
    scores = reshape(split + masked, {batch * heads_, length, source});
  }
  const Tensor weights = softmax(scores, -1);
  const Tensor heads =
      matmul(dropout(weights, options_.dropout, training()), flatten(heads_of(v), 0, 1));
  return {joined(reshape(heads, {batch, heads_, length, head_width})),
          mean(reshape(weights, {batch, heads_, length, source}), 1)};
}

Tensor MultiheadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionMasks& given) const {
  const CallScope scope(kName);
  AttentionMasks masks = given;
  Projected projected = project(query, key, value, masks);
  extend(projected, masks);
  const DType dtype = projected.query.dtype();
  const int64_t batch = projected.query.size(0);
  // Masks for [N, heads, L, S].
  Tensor attention = masks.attention, padding = masks.key_padding;
  if (attention.defined() && attention.rank() == 3) {
    attention = reshape(attention, {batch, heads_, attention.size(1), attention.size(2)});
  }
  if (padding.defined()) padding = reshape(padding, {batch, 1, 1, padding.size(1)});
  const bool all_bool = (!attention.defined() || attention.dtype() == DType::kBool) &&
                        (!padding.defined() || padding.dtype() == DType::kBool);
  const auto one = [&](const Tensor& mask) { return all_bool ? mask : added_mask(mask, dtype); };
  Tensor mask;
  if (attention.defined()) mask = one(attention);
  if (padding.defined()) {
    const Tensor other = one(padding);
    mask = !mask.defined() ? other : all_bool ? logical_or(mask, other) : mask + other;
  }
  AttentionOptions options{.dropout = training() ? options_.dropout : 0.0};
  if (mask.defined()) options.mask = all_bool ? logical_not(mask) : mask;
  return joined(scaled_dot_product_attention(heads_of(projected.query), heads_of(projected.key),
                                             heads_of(projected.value), options));
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t width, int64_t heads,
                                                 const TransformerEncoderLayerOptions& options)
    : options_(options) {
  check_probability("TransformerEncoderLayer", options.dropout);
  attention_ = add_module_of("self_attn", MultiheadAttention(width, heads,
                                                             {.dropout = options.dropout,
                                                              .batch_first = options.batch_first}));
  linear1_ = add_module_of("linear1", Linear(width, options.feedforward));
  linear2_ = add_module_of("linear2", Linear(options.feedforward, width));
  norm1_ = add_module_of("norm1", LayerNorm({width}, options.eps));
  norm2_ = add_module_of("norm2", LayerNorm({width}, options.eps));
}

Tensor TransformerEncoderLayer::attend(const Tensor& x, const AttentionMasks& masks) const {
  return dropout(attention_->attend(x, x, x, masks), options_.dropout, training());
}

Tensor TransformerEncoderLayer::feed_forward(const Tensor& x) const {
  const Tensor wide = (*linear1_)(x);
  const bool rectified = options_.activation == TransformerEncoderLayerOptions::Activation::kRelu;
  const Tensor active = dropout(rectified ? relu(wide) : gelu(wide), options_.dropout, training());
  return dropout((*linear2_)(active), options_.dropout, training());
}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const AttentionMasks& masks) const {
  const CallScope scope;
  if (options_.norm_first) {
    const Tensor attended = x + attend((*norm1_)(x), masks);
    return attended + feed_forward((*norm2_)(attended));
  }
  const Tensor attended = (*norm1_)(x + attend(x, masks));
  return (*norm2_)(attended + feed_forward(attended));
}

}  // namespace remora::nn
