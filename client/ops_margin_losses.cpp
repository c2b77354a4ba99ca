// Margin losses over classes.
#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "client/reduction.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Scores as [N, C]; what they were says how the losses are shaped.
Tensor as_batch(std::string_view function, const Tensor& x) {
  require_float(function, x.dtype());
  if (x.rank() > 2) refuse(function, str_cat("takes scores [N, C] or [C], not ", x.shape().str()));
  return x.rank() == 2 ? x : reshape(x, {1, x.numel()});
}

Tensor unbatch(const Tensor& loss, const Tensor& x) {
  return x.rank() == 2 ? loss : reshape(loss, {});
}

}  // namespace

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, int64_t p, double margin,
                         const Tensor& weight, Reduction reduction) {
  const CallScope scope;
  const Tensor scores = as_batch("multi_margin_loss", x);
  const int64_t batch = scores.size(0);
  const int64_t classes = scores.size(1);
  if (p != 1 && p != 2) refuse("multi_margin_loss", str_cat("p must be 1 or 2, not ", p));
  if (target.numel() != batch || target.rank() > 1 || classes == 0) {
    refuse("multi_margin_loss", str_cat("scores ", x.shape().str(), " and classes ",
                                        target.shape().str(), " do not fit together"));
  }
  const Tensor index = reshape(target, {batch, 1});
  Tensor excess = clip(scores - gather(scores, 1, index) + margin, Operand(0.0), std::nullopt);
  if (p == 2) excess = square(excess);
  if (weight.defined()) excess = excess * gather(broadcast_to(weight, scores.shape()), 1, index);
  const Tensor other = not_equal(arange(0, classes, 1, x.device(), DType::kI64), index);
  const Tensor loss = sum(where(other, excess, 0.0), 1) / classes;
  return reduce_loss(unbatch(loss, x), reduction);
}

Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const CallScope scope;
  const Tensor scores = as_batch("multilabel_margin_loss", x);
  if (target.shape() != x.shape()) {
    refuse("multilabel_margin_loss", str_cat("scores ", x.shape().str(), " and classes ",
                                             target.shape().str(), " differ in shape"));
  }
  const Tensor listed = reshape(target, scores.shape());
  const Tensor valid = not_equal(cumprod(greater_equal(listed, 0), 1), 0);
  const Tensor index = where(valid, listed, int64_t{0});
  const Tensor hits = scatter_add(zeros_like(index), 1, index, astype(valid, DType::kI64));
  // [N, target, class]
  const Tensor excess = clip(1.0 - unsqueeze(gather(scores, 1, index), 2) + unsqueeze(scores, 1),
                             Operand(0.0), std::nullopt);
  const Tensor counted = logical_and(unsqueeze(valid, 2), unsqueeze(equal(hits, 0), 1));
  const Tensor loss = sum(where(counted, excess, 0.0), Axes{1, 2}) / scores.size(1);
  return reduce_loss(unbatch(loss, x), reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight,
                                   Reduction reduction) {
  const CallScope scope;
  require_float("multilabel_soft_margin_loss", x.dtype());
  if (target.shape() != x.shape() || x.rank() == 0) {
    refuse("multilabel_soft_margin_loss", str_cat("logits ", x.shape().str(), " and targets ",
                                                  target.shape().str(), " differ in shape"));
  }
  Tensor loss = -(target * logsigmoid(x) + (1.0 - target) * logsigmoid(-x));
  if (weight.defined()) loss = loss * weight;
  return reduce_loss(mean(loss, -1), reduction);
}

}  // namespace remora
