#include "client/nn/losses.h"

#include "client/apply.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

Tensor SmoothL1Loss::loss(const Tensor& x, const Tensor& target) const {
  return smooth_l1_loss(x, target, reduction(), beta_);
}

Tensor HuberLoss::loss(const Tensor& x, const Tensor& target) const {
  return huber_loss(x, target, reduction(), delta_);
}

Tensor CrossEntropyLoss::loss(const Tensor& x, const Tensor& target) const {
  return cross_entropy(x, target, options_);
}

Tensor NLLLoss::loss(const Tensor& x, const Tensor& target) const {
  return nll_loss(x, target, options_);
}

Tensor BCELoss::loss(const Tensor& x, const Tensor& target) const {
  return binary_cross_entropy(x, target, weight_, reduction());
}

Tensor BCEWithLogitsLoss::loss(const Tensor& x, const Tensor& target) const {
  return binary_cross_entropy_with_logits(x, target, weight_, positive_weight_, reduction());
}

Tensor KLDivLoss::loss(const Tensor& x, const Tensor& target) const {
  if (!options_.batch_mean) return kl_div(x, target, reduction(), options_.log_target);
  const dispatch::CallScope scope("");
  if (x.rank() == 0 || x.size(0) == 0) {
    refuse("KLDivLoss", str_cat("a mean over the batch of ", x.shape().str()));
  }
  return kl_div(x, target, Reduction::kSum, options_.log_target) / static_cast<double>(x.size(0));
}

Tensor PoissonNLLLoss::loss(const Tensor& x, const Tensor& target) const {
  return poisson_nll_loss(x, target, options_.log_input, options_.full, options_.eps, reduction());
}

Tensor HingeEmbeddingLoss::loss(const Tensor& x, const Tensor& target) const {
  return hinge_embedding_loss(x, target, margin_, reduction());
}

Tensor MultiMarginLoss::loss(const Tensor& x, const Tensor& target) const {
  return multi_margin_loss(x, target, options_.p, options_.margin, options_.weight, reduction());
}

Tensor MultiLabelSoftMarginLoss::loss(const Tensor& x, const Tensor& target) const {
  return multilabel_soft_margin_loss(x, target, weight_, reduction());
}

Tensor GaussianNLLLoss::operator()(const Tensor& x, const Tensor& target,
                                   const Tensor& variance) const {
  return gaussian_nll_loss(x, target, variance, full_, eps_, reduction_);
}

Tensor TripletMarginLoss::operator()(const Tensor& anchor, const Tensor& positive,
                                     const Tensor& negative) const {
  return triplet_margin_loss(anchor, positive, negative, options_.margin, options_.order,
                             options_.eps, options_.swap, options_.reduction);
}

Tensor CTCLoss::operator()(const Tensor& log_probabilities, const Tensor& labels,
                           const Tensor& input_lengths, const Tensor& label_lengths) const {
  return ctc_loss(log_probabilities, labels, input_lengths, label_lengths, options_);
}

}  // namespace remora::nn
