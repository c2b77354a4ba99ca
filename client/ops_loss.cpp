// Losses between a prediction and a target of its shape.
#include <cmath>
#include <numbers>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "client/reduction.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

Tensor reduce_loss(const Tensor& loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
      return loss;
    case Reduction::kMean:
      return mean(loss);
    case Reduction::kSum:
      return sum(loss);
  }
  return loss;
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const CallScope scope;
  return reduce_loss(square(x - target), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const CallScope scope;
  return reduce_loss(abs(x - target), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
  const CallScope scope;
  if (beta < 0) refuse("smooth_l1_loss", str_cat("beta ", beta, " is negative"));
  if (beta == 0.0) return l1_loss(x, target, reduction);
  const Tensor difference = x - target;
  const Tensor distance = abs(difference);
  const Tensor loss =
      where(distance < beta, square(difference) * (0.5 / beta), distance - 0.5 * beta);
  return reduce_loss(loss, reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
  const CallScope scope;
  if (!(delta > 0)) refuse("huber_loss", str_cat("delta ", delta, " is not positive"));
  const Tensor difference = x - target;
  const Tensor distance = abs(difference);
  const Tensor loss =
      where(distance <= delta, 0.5 * square(difference), delta * (distance - 0.5 * delta));
  return reduce_loss(loss, reduction);
}

namespace {

/// log(x), but not below -100, as PyTorch bounds it.
Tensor bounded_log(const Tensor& x) {
  const Tensor small = x < std::exp(-100.0);
  return where(small, -100.0, log(where(small, 1.0, x)));
}

void require_same_shape(std::string_view function, const Tensor& x, const Tensor& target) {
  if (x.shape() == target.shape()) return;
  refuse(function, str_cat("input ", x.shape().str(), " and target ", target.shape().str(),
                           " must have one shape"));
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                            Reduction reduction) {
  const CallScope scope;
  require_same_shape("binary_cross_entropy", x, target);
  const Tensor loss = -(target * bounded_log(x) + (1.0 - target) * bounded_log(1.0 - x));
  return reduce_loss(weight.defined() ? loss * weight : loss, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight,
                                        const Tensor& positive_weight, Reduction reduction) {
  const CallScope scope;
  require_same_shape("binary_cross_entropy_with_logits", x, target);
  Tensor penalty = -logsigmoid(x);  // log(1 + exp(-x))
  if (positive_weight.defined()) penalty = penalty * ((positive_weight - 1.0) * target + 1.0);
  const Tensor loss = (1.0 - target) * x + penalty;
  return reduce_loss(weight.defined() ? loss * weight : loss, reduction);
}

Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction, bool log_target) {
  const CallScope scope;
  const Tensor loss = log_target ? exp(target) * (target - x) : xlogy(target, target) - target * x;
  return reduce_loss(loss, reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const CallScope scope;
  return reduce_loss(-logsigmoid(target * x), reduction);
}

Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                           Reduction reduction) {
  const CallScope scope;
  return reduce_loss(clip(-target * (x1 - x2) + margin, 0.0, std::nullopt), reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin,
                            Reduction reduction) {
  const CallScope scope;
  const Tensor apart = where(not_equal(target, 1.0), clip(margin - x, 0.0, std::nullopt), 0.0);
  const Tensor together = where(not_equal(target, -1.0), x, 0.0);
  return reduce_loss(apart + together, reduction);
}

Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                             double margin, Reduction reduction) {
  const CallScope scope;
  constexpr double kEpsilon = 1e-12;
  if (x1.shape() != x2.shape() || x1.rank() != target.rank() + 1) {
    refuse("cosine_embedding_loss",
           str_cat("inputs ", x1.shape().str(), " and ", x2.shape().str(), " with target ",
                   target.shape().str(), ": the inputs have one axis more than the target"));
  }
  const int64_t axis = target.rank();
  const Tensor lengths = (sum(square(x1), axis) + kEpsilon) * (sum(square(x2), axis) + kEpsilon);
  const Tensor cosine = sum(x1 * x2, axis) / sqrt(lengths);
  const Tensor together = where(equal(target, 1.0), 1.0 - cosine, 0.0);
  const Tensor apart = where(equal(target, -1.0), clip(cosine - margin, 0.0, std::nullopt), 0.0);
  return reduce_loss(together + apart, reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double order, double eps, bool swap,
                           Reduction reduction) {
  const CallScope scope;
  const Tensor near = pairwise_distance(anchor, positive, order, eps);
  Tensor far = pairwise_distance(anchor, negative, order, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, order, eps));
  return reduce_loss(clip(near - far + margin, 0.0, std::nullopt), reduction);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input, bool full,
                        double eps, Reduction reduction) {
  const CallScope scope;
  Tensor loss = log_input ? exp(x) - target * x : x - target * log(x + eps);
  if (full) {  // Stirling's approximation of log(target!)
    const Tensor large = target > 1.0;
    const Tensor t = where(large, target, 1.0);
    const Tensor term = t * log(t) - t + 0.5 * log(2.0 * std::numbers::pi * t);
    loss = loss + where(large, term, 0.0);
  }
  return reduce_loss(loss, reduction);
}

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& variance, bool full,
                         double eps, Reduction reduction) {
  const CallScope scope;
  Tensor spread = variance;
  if (variance.rank() + 1 == x.rank()) spread = unsqueeze(variance, -1);
  // The bound guards the value; the gradient passes as if it were not there.
  spread = spread + (clip(spread, eps, std::nullopt) - spread).detach();
  Tensor loss = 0.5 * (log(spread) + square(x - target) / spread);
  if (full) loss = loss + 0.5 * std::log(2.0 * std::numbers::pi);
  return reduce_loss(loss, reduction);
}

}  // namespace remora
