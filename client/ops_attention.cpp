// Attention: the catalogue's row, or smaller operations where that does not do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "client/apply.h"
#include "client/attention_scores.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

constexpr std::string_view kName = "scaled_dot_product_attention";

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttentionOptions& options) {
  require_float(kName, query.dtype());
  const bool fits = query.rank() >= 2 && key.rank() >= 2 && value.rank() >= 2 &&
                    query.size(-1) == key.size(-1) && key.size(-2) == value.size(-2) &&
                    key.dtype() == query.dtype() && value.dtype() == query.dtype();
  if (!fits) {
    refuse(kName, str_cat("query ", query.spec().str(), ", key ", key.spec().str(), " and value ",
                          value.spec().str(), " do not fit each other"));
  }
  if (!(options.dropout >= 0.0 && options.dropout <= 1.0)) {
    refuse(kName, str_cat("dropout is ", options.dropout, "; it must lie in [0, 1]"));
  }
  const DType mask = options.mask.defined() ? options.mask.dtype() : DType::kBool;
  if (mask != DType::kBool && !is_float(mask)) {
    refuse(kName, str_cat("the mask is ", dtype_name(mask), "; it must be bool or floating"));
  }
  if (!options.grouped_heads) return;
  for (const Tensor* x : {&key, &value}) {
    const bool divides = x->rank() >= 3 && query.rank() >= 3 && x->size(-3) > 0 &&
                         query.size(-3) > 0 && query.size(-3) % x->size(-3) == 0;
    if (divides) continue;
    refuse(kName, str_cat("the heads (axis -3) of ", x->shape().str(), " do not divide those of ",
                          query.shape().str()));
  }
}

/// INVALID_ARGUMENT unless the mask broadcasts to the scores. Operands that do not fit each other
/// are refused where they meet.
void check_mask(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttentionOptions& options) {
  if (!options.mask.defined()) return;
  Shape scores;
  for (const Tensor* x : {&query, &key, &value}) {
    Shape leading(std::span(x->shape().sizes()).first(static_cast<size_t>(x->rank() - 2)));
    if (options.grouped_heads && x != &query) leading.sizes().back() = 1;
    const absl::StatusOr<Shape> both = broadcast_shapes(scores, leading);
    if (!both.ok()) return;
    scores = *both;
  }
  scores.sizes().push_back(query.size(-2));
  scores.sizes().push_back(key.size(-2));
  const absl::StatusOr<Shape> both = broadcast_shapes(options.mask.shape(), scores);
  if (both.ok() && *both == scores) return;
  refuse(kName,
         str_cat("the mask ", options.mask.shape().str(), " does not broadcast to ", scores.str()));
}

/// softmax over the last axis in which a row of nothing but -inf gives zeros, and no NaN reaches
/// its gradient.
Tensor softmax_or_zeros(const Tensor& scores) {
  if (scores.size(-1) == 0) return scores;
  const Tensor masked = equal(amax(scores.detach(), {-1}, true), kMasked);
  return where(masked, 0.0, softmax(where(masked, 0.0, scores), -1));
}

/// Attention of smaller operations, for weights that are dropped.
Tensor composed(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttentionOptions& options, double scale) {
  const auto heads_of_query = [&](const Tensor& x) {
    return options.grouped_heads ? repeat_interleave(x, query.size(-3) / x.size(-3), -3) : x;
  };
  const Tensor scores = masked_scores(matmul(query * scale, transpose(heads_of_query(key))),
                                      options.causal, options.mask);
  const Tensor weights = options.mask.defined() ? softmax_or_zeros(scores) : softmax(scores, -1);
  return matmul(dropout(weights, options.dropout), heads_of_query(value));
}

/// The axes before the last two, at least two of them.
Shape leading_axes(const Tensor& x) {
  Shape result;
  for (int64_t i = x.rank(); i < 4; ++i) result.sizes().push_back(1);
  for (int64_t axis = 0; axis + 2 < x.rank(); ++axis) result.sizes().push_back(x.size(axis));
  return result;
}

/// x with the leading axes `leading`, whose last is the heads', as [batch, heads, .., ..].
Tensor with_four_axes(const Tensor& x, Shape leading) {
  Shape whole = leading;
  const int64_t heads = leading.sizes().back();
  leading.sizes().pop_back();
  const Shape flat = {leading.numel(), heads, x.size(-2), x.size(-1)};
  whole.sizes().push_back(x.size(-2));
  whole.sizes().push_back(x.size(-1));
  return reshape(broadcast_to(x, whole), flat);
}

/// The mask for [batch, heads, L, S]: axes that only repeat it stay 1 where that is possible.
Tensor mask_with_four_axes(const Tensor& mask, const Shape& leading) {
  if (mask.rank() < 2) return mask_with_four_axes(unsqueeze(mask, 0), leading);
  Shape batch = leading_axes(mask);
  const int64_t heads = batch.sizes().back();
  batch.sizes().pop_back();
  if (leading.rank() == 2 || batch.numel() == 1) {  // as it is, or one for the whole batch
    return reshape(mask, {batch.numel(), heads, mask.size(-2), mask.size(-1)});
  }
  return with_four_axes(mask, leading);
}

/// Attention by the catalogue's row, which never holds the whole matrix of weights.
Tensor blockwise(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options, double scale) {
  Shape leading = leading_axes(query);
  const int64_t heads = leading.sizes().back();
  const Shape key_leading = leading_axes(key), value_leading = leading_axes(value);
  const int64_t key_heads = key_leading.sizes().back();
  if (options.grouped_heads && value_leading.sizes().back() != key_heads) {
    AttentionOptions whole = options;  // each as often as the query has heads
    whole.grouped_heads = false;
    return blockwise(query, repeat_interleave(key, heads / key_heads, -3),
                     repeat_interleave(value, heads / value_leading.sizes().back(), -3), whole,
                     scale);
  }
  if (options.grouped_heads) leading.sizes().back() = key_heads;
  for (const Shape& other : {key_leading, value_leading}) {
    const absl::StatusOr<Shape> both = broadcast_shapes(leading, other);
    if (!both.ok()) {
      refuse(kName, str_cat("query ", query.shape().str(), ", key ", key.shape().str(),
                            " and value ", value.shape().str(), " do not broadcast"));
    }
    leading = *both;
  }
  Shape query_leading = leading;
  if (options.grouped_heads) query_leading.sizes().back() = heads;
  OpInputs operands = {with_four_axes(query, query_leading), with_four_axes(key, leading),
                       with_four_axes(value, leading)};
  if (options.mask.defined()) {
    const Tensor mask =
        options.mask.dtype() == DType::kBool ? options.mask : astype(options.mask, query.dtype());
    operands.push_back(mask_with_four_axes(mask, query_leading));
  }
  const Tensor output = apply_all(dispatch::OpCode::attention, operands,
                                  dispatch::AttentionAttrs{options.causal, scale})[0];
  Shape shape;
  const int64_t rank = std::max({query.rank(), key.rank(), value.rank()});
  for (int64_t axis = query_leading.rank() + 2 - rank; axis < query_leading.rank(); ++axis) {
    shape.sizes().push_back(query_leading[axis]);
  }
  shape.sizes().push_back(query.size(-2));
  shape.sizes().push_back(value.size(-1));
  return reshape(output, shape);
}

}  // namespace

Tensor masked_scores(const Tensor& scores, bool causal, const Tensor& mask) {
  Tensor result = scores;
  if (causal) {
    const Device device = scores.device().without_autodiff();
    const Tensor row = unsqueeze(arange(0, scores.size(-2), 1, device, DType::kI64), 1);
    result = where(row >= arange(0, scores.size(-1), 1, device, DType::kI64), result, kMasked);
  }
  if (!mask.defined()) return result;
  return mask.dtype() == DType::kBool ? where(mask, result, kMasked)
                                      : result + astype(mask, result.dtype());
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const CallScope scope;
  check_attention(query, key, value, options);
  check_mask(query, key, value, options);
  const auto width = static_cast<double>(std::max<int64_t>(query.size(-1), 1));
  const double scale = options.scale.value_or(1.0 / std::sqrt(width));
  if (options.dropout == 0.0) return blockwise(query, key, value, options, scale);
  if (!is_half(query.dtype())) return composed(query, key, value, options, scale);
  const auto wide = [](const Tensor& x) { return astype(x, DType::kF32); };
  return astype(composed(wide(query), wide(key), wide(value), options, scale), query.dtype());
}

Tensor rotary_embedding(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                        bool interleaved) {
  const CallScope scope;
  constexpr std::string_view kFunction = "rotary_embedding";
  require_float(kFunction, x.dtype());
  const bool fits = x.rank() >= 1 && x.size(-1) % 2 == 0 && cosines.rank() >= 1 &&
                    cosines.shape() == sines.shape() && cosines.size(-1) == x.size(-1) / 2;
  if (!fits) {
    refuse(kFunction,
           str_cat("cosines of ", cosines.shape().str(), " and sines of ", sines.shape().str(),
                   " do not fit ", x.shape().str(), "; they must both have half as many columns"));
  }
  if (is_half(x.dtype())) {
    return through_f32(
        x, [&](const Tensor& f) { return rotary_embedding(f, cosines, sines, interleaved); });
  }
  const int64_t half = x.size(-1) / 2;
  // [.., 2, half] or [.., half, 2]: the axis of the pair.
  const int64_t pair = interleaved ? -1 : -2;
  const Tensor split = interleaved ? unflatten(x, -1, {half, 2}) : unflatten(x, -1, {2, half});
  const Tensor a = select(split, pair, 0);
  const Tensor b = select(split, pair, 1);
  const Tensor turned = stack({a * cosines - b * sines, a * sines + b * cosines}, pair);
  return flatten(turned, -2, -1);
}

}  // namespace remora
