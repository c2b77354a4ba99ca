// Cross entropy and negative log-likelihood over classes.
#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "client/reduction.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Log-probabilities and their i64 targets, checked.
struct Classified {
  Tensor log_probabilities;  // [N, C, d...] or [C]
  Tensor safe_target;        // with ignored entries 0, shape [N, d...] or []
  Tensor ignored;            // bool, the target's shape
  Tensor weights;            // of each target, 0 where ignored
  int64_t axis = 0;          // of the classes
};

int64_t class_axis(std::string_view function, const Tensor& x) {
  if (x.rank() == 0) refuse(function, "a rank-0 tensor has no classes");
  return x.rank() == 1 ? 0 : 1;
}

void check_weight(std::string_view function, const Tensor& weight, int64_t classes) {
  if (!weight.defined() || weight.shape() == Shape{classes}) return;
  refuse(function, str_cat("weight ", weight.shape().str(), " does not fit ", classes, " classes"));
}

Classified classify(std::string_view function, const Tensor& log_probabilities,
                    const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  Classified result;
  result.axis = class_axis(function, log_probabilities);
  result.log_probabilities = log_probabilities;
  require_float(function, log_probabilities.dtype());
  if (target.dtype() != DType::kI64) {
    refuse(function, str_cat("the target is ", dtype_name(target.dtype()), "; classes are i64"));
  }
  Shape expected = log_probabilities.shape();
  expected.sizes().erase(expected.sizes().begin() + result.axis);
  if (target.shape() != expected) {
    refuse(function, str_cat("input ", log_probabilities.shape().str(), " needs a target of shape ",
                             expected.str(), ", not ", target.shape().str()));
  }
  check_weight(function, weight, log_probabilities.size(result.axis));
  result.ignored = equal(target, ignore_index);
  result.safe_target = where(result.ignored, 0, target);
  const Tensor all = weight.defined()
                         ? take(weight, result.safe_target)
                         : full(target.shape(), 1, log_probabilities.device().without_autodiff(),
                                log_probabilities.dtype());
  result.weights = where(result.ignored, 0.0, all);
  return result;
}

/// -weight * log p(target), 0 where ignored.
Tensor target_loss(const Classified& c) {
  const Tensor picked =
      squeeze(gather(c.log_probabilities, c.axis, unsqueeze(c.safe_target, c.axis)), c.axis);
  return -(where(c.ignored, 0.0, picked) * c.weights);
}

Tensor weighted(const Tensor& loss, const Tensor& weights, Reduction reduction) {
  return reduction == Reduction::kMean ? sum(loss) / sum(weights) : reduce_loss(loss, reduction);
}

/// A per-class weight, to be broadcast over the input.
Tensor along_classes(const Tensor& weight, const Tensor& x, int64_t axis) {
  Shape shape(Dims(static_cast<size_t>(x.rank()), 1));
  shape[axis] = x.size(axis);
  return reshape(weight, shape);
}

void check_smoothing(double smoothing) {
  if (smoothing >= 0.0 && smoothing <= 1.0) return;
  refuse("cross_entropy", str_cat("label_smoothing is ", smoothing, "; it must lie in [0, 1]"));
}

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& target,
                          const CrossEntropyOptions& options) {
  const int64_t axis = class_axis("cross_entropy", logits);
  const auto classes = static_cast<double>(logits.size(axis));
  check_weight("cross_entropy", options.weight, logits.size(axis));
  const double smoothing = options.label_smoothing;
  const Tensor goal = smoothing > 0.0 ? target * (1.0 - smoothing) + smoothing / classes : target;
  Tensor terms = log_softmax(logits, axis) * goal;
  if (options.weight.defined()) terms = terms * along_classes(options.weight, logits, axis);
  const Tensor loss = -sum(terms, axis);
  return reduce_loss(loss, options.reduction);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  const CallScope scope;
  if (is_half(logits.dtype())) {
    return through_f32(logits, [&](const Tensor& f) { return cross_entropy(f, target, options); });
  }
  check_smoothing(options.label_smoothing);
  const int64_t axis = class_axis("cross_entropy", logits);
  if (is_float(target.dtype()) && target.shape() == logits.shape()) {
    return soft_cross_entropy(logits, target, options);
  }
  const Classified c = classify("cross_entropy", log_softmax(logits, axis), target, options.weight,
                                options.ignore_index);
  const Tensor hard = weighted(target_loss(c), c.weights, options.reduction);
  if (options.label_smoothing == 0.0) return hard;
  Tensor spread = c.log_probabilities;
  if (options.weight.defined()) spread = spread * along_classes(options.weight, logits, axis);
  const Tensor uniform_loss = where(c.ignored, 0.0, -sum(spread, axis));
  const Tensor soft = weighted(uniform_loss, c.weights, options.reduction);
  const double share = options.label_smoothing / static_cast<double>(logits.size(axis));
  return hard * (1.0 - options.label_smoothing) + soft * share;
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options) {
  const CallScope scope;
  if (is_half(log_probabilities.dtype())) {
    return through_f32(log_probabilities,
                       [&](const Tensor& f) { return nll_loss(f, target, options); });
  }
  const Classified c =
      classify("nll_loss", log_probabilities, target, options.weight, options.ignore_index);
  return weighted(target_loss(c), c.weights, options.reduction);
}

}  // namespace remora
