// Attention made of matmul and softmax.
#include <cmath>
#include <limits>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

void check_attention(std::string_view function, const Tensor& query, const Tensor& key,
                     const Tensor& value, const AttentionOptions& options) {
  require_float(function, query.dtype());
  const bool fits = query.rank() >= 2 && key.rank() >= 2 && value.rank() >= 2 &&
                    query.size(-1) == key.size(-1) && key.size(-2) == value.size(-2) &&
                    key.dtype() == query.dtype() && value.dtype() == query.dtype();
  if (!fits) {
    refuse(function, str_cat("query ", query.spec().str(), ", key ", key.spec().str(),
                             " and value ", value.spec().str(), " do not fit each other"));
  }
  if (!(options.dropout >= 0.0 && options.dropout <= 1.0)) {
    refuse(function, str_cat("dropout is ", options.dropout, "; it must lie in [0, 1]"));
  }
  const DType mask = options.mask.defined() ? options.mask.dtype() : DType::kBool;
  if (mask != DType::kBool && !is_float(mask)) {
    refuse(function, str_cat("the mask is ", dtype_name(mask), "; it must be bool or floating"));
  }
}

/// The heads of a key or value as often as the query has heads for each.
Tensor repeated_heads(std::string_view function, const Tensor& x, const Tensor& query) {
  if (x.rank() < 3 || query.rank() < 3 || x.size(-3) == 0 || query.size(-3) % x.size(-3) != 0) {
    refuse(function, str_cat("the heads (axis -3) of ", x.shape().str(), " do not divide those of ",
                             query.shape().str()));
  }
  return repeat_interleave(x, query.size(-3) / x.size(-3), -3);
}

/// bool [L, S]: query i sees key j for j <= i.
Tensor causal_mask(const Tensor& scores) {
  const Device device = scores.device().without_autodiff();
  return unsqueeze(arange(0, scores.size(-2), 1, device), 1) >=
         arange(0, scores.size(-1), 1, device);
}

/// softmax over the last axis in which a row of nothing but -inf gives zeros, and no NaN reaches
/// its gradient.
Tensor softmax_or_zeros(const Tensor& scores) {
  if (scores.size(-1) == 0) return scores;
  const Tensor hidden = equal(amax(scores.detach(), {-1}, true), kHidden);
  return where(hidden, 0.0, softmax(where(hidden, 0.0, scores), -1));
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const CallScope scope;
  constexpr std::string_view kName = "scaled_dot_product_attention";
  check_attention(kName, query, key, value, options);
  if (is_half(query.dtype())) {  // f32 inside, one rounding at the end
    const auto wide = [](const Tensor& x) { return astype(x, DType::kF32); };
    return astype(scaled_dot_product_attention(wide(query), wide(key), wide(value), options),
                  query.dtype());
  }
  if (options.grouped_heads) {
    AttentionOptions whole = options;
    whole.grouped_heads = false;
    return scaled_dot_product_attention(query, repeated_heads(kName, key, query),
                                        repeated_heads(kName, value, query), whole);
  }
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor scores = matmul(query * scale, transpose(key));
  if (options.causal) scores = where(causal_mask(scores), scores, kHidden);
  if (options.mask.defined()) {
    scores = options.mask.dtype() == DType::kBool ? where(options.mask, scores, kHidden)
                                                  : scores + astype(options.mask, scores.dtype());
  }
  const Tensor weights = options.mask.defined() ? softmax_or_zeros(scores) : softmax(scores, -1);
  return matmul(dropout(weights, options.dropout), value);
}

Tensor rotary_embedding(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                        bool interleaved) {
  const CallScope scope;
  constexpr std::string_view kName = "rotary_embedding";
  require_float(kName, x.dtype());
  const bool fits = x.rank() >= 1 && x.size(-1) % 2 == 0 && cosines.rank() >= 1 &&
                    cosines.shape() == sines.shape() && cosines.size(-1) == x.size(-1) / 2;
  if (!fits) {
    refuse(kName,
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
