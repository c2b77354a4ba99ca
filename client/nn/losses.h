// Losses as modules; what they compute stands at the functions of ops_nn.h, ops_margin_losses.h and
// ops_ctc.h. They take two tensors or three and reduce to the mean unless told otherwise.
#pragma once

#include "client/nn/module.h"
#include "client/ops.h"
#include "client/ops_ctc.h"

namespace remora::nn {

/// A loss with no options but its reduction.
template <Tensor (*kFunction)(const Tensor&, const Tensor&, Reduction)>
class ReducedLoss : public Module {
 public:
  explicit ReducedLoss(Reduction reduction = Reduction::kMean) : reduction_(reduction) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return kFunction(x, target, reduction_);
  }

 private:
  Reduction reduction_;
};
using MSELoss = ReducedLoss<&mse_loss>;
using L1Loss = ReducedLoss<&l1_loss>;
using SoftMarginLoss = ReducedLoss<&soft_margin_loss>;
using MultiLabelMarginLoss = ReducedLoss<&multilabel_margin_loss>;

/// A loss of two tensors, some options and a reduction.
class Loss : public Module {
 public:
  Tensor operator()(const Tensor& x, const Tensor& target) const { return loss(x, target); }

 protected:
  explicit Loss(Reduction reduction) : reduction_(reduction) {}
  Reduction reduction() const { return reduction_; }

 private:
  virtual Tensor loss(const Tensor& x, const Tensor& target) const = 0;
  Reduction reduction_;
};

class SmoothL1Loss : public Loss {
 public:
  explicit SmoothL1Loss(Reduction reduction = Reduction::kMean, double beta = 1.0)
      : Loss(reduction), beta_(beta) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  double beta_;
};

class HuberLoss : public Loss {
 public:
  explicit HuberLoss(Reduction reduction = Reduction::kMean, double delta = 1.0)
      : Loss(reduction), delta_(delta) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  double delta_;
};

class CrossEntropyLoss : public Loss {
 public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {})
      : Loss(options.reduction), options_(std::move(options)) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  CrossEntropyOptions options_;
};

class NLLLoss : public Loss {
 public:
  explicit NLLLoss(NllOptions options = {})
      : Loss(options.reduction), options_(std::move(options)) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  NllOptions options_;
};

class BCELoss : public Loss {
 public:
  explicit BCELoss(Tensor weight = {}, Reduction reduction = Reduction::kMean)
      : Loss(reduction), weight_(std::move(weight)) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  Tensor weight_;
};

class BCEWithLogitsLoss : public Loss {
 public:
  explicit BCEWithLogitsLoss(Tensor weight = {}, Tensor positive_weight = {},
                             Reduction reduction = Reduction::kMean)
      : Loss(reduction), weight_(std::move(weight)), positive_weight_(std::move(positive_weight)) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  Tensor weight_;
  Tensor positive_weight_;
};

struct KlDivOptions {
  Reduction reduction = Reduction::kMean;
  bool log_target = false;
  bool batch_mean = false;  // the sum divided by the size of axis 0, which is the divergence's mean
};
class KLDivLoss : public Loss {
 public:
  explicit KLDivLoss(const KlDivOptions& options = {})
      : Loss(options.reduction), options_(options) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  KlDivOptions options_;
};

struct PoissonNllOptions {
  bool log_input = true;
  bool full = false;
  double eps = 1e-8;
  Reduction reduction = Reduction::kMean;
};
class PoissonNLLLoss : public Loss {
 public:
  explicit PoissonNLLLoss(const PoissonNllOptions& options = {})
      : Loss(options.reduction), options_(options) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  PoissonNllOptions options_;
};

class HingeEmbeddingLoss : public Loss {
 public:
  explicit HingeEmbeddingLoss(double margin = 1.0, Reduction reduction = Reduction::kMean)
      : Loss(reduction), margin_(margin) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  double margin_;
};

struct MultiMarginOptions {
  int64_t p = 1;
  double margin = 1.0;
  Tensor weight = {};
  Reduction reduction = Reduction::kMean;
};
class MultiMarginLoss : public Loss {
 public:
  explicit MultiMarginLoss(MultiMarginOptions options = {})
      : Loss(options.reduction), options_(std::move(options)) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  MultiMarginOptions options_;
};

class MultiLabelSoftMarginLoss : public Loss {
 public:
  explicit MultiLabelSoftMarginLoss(Tensor weight = {}, Reduction reduction = Reduction::kMean)
      : Loss(reduction), weight_(std::move(weight)) {}

 private:
  Tensor loss(const Tensor& x, const Tensor& target) const override;
  Tensor weight_;
};

class GaussianNLLLoss : public Module {
 public:
  explicit GaussianNLLLoss(bool full = false, double eps = 1e-6,
                           Reduction reduction = Reduction::kMean)
      : full_(full), eps_(eps), reduction_(reduction) {}
  Tensor operator()(const Tensor& x, const Tensor& target, const Tensor& variance) const;

 private:
  bool full_;
  double eps_;
  Reduction reduction_;
};

/// A loss of two inputs, a target of 1 and -1, and a margin.
template <Tensor (*kFunction)(const Tensor&, const Tensor&, const Tensor&, double, Reduction)>
class MarginLoss : public Module {
 public:
  explicit MarginLoss(double margin = 0.0, Reduction reduction = Reduction::kMean)
      : margin_(margin), reduction_(reduction) {}
  Tensor operator()(const Tensor& x1, const Tensor& x2, const Tensor& target) const {
    return kFunction(x1, x2, target, margin_, reduction_);
  }

 private:
  double margin_;
  Reduction reduction_;
};
using CosineEmbeddingLoss = MarginLoss<&cosine_embedding_loss>;
using MarginRankingLoss = MarginLoss<&margin_ranking_loss>;

struct TripletMarginOptions {
  double margin = 1.0;
  double order = 2.0;
  double eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::kMean;
};
class TripletMarginLoss : public Module {
 public:
  explicit TripletMarginLoss(const TripletMarginOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const;

 private:
  TripletMarginOptions options_;
};

class CTCLoss : public Module {
 public:
  explicit CTCLoss(const CtcOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& log_probabilities, const Tensor& labels,
                    const Tensor& input_lengths, const Tensor& label_lengths) const;

 private:
  CtcOptions options_;
};

}  // namespace remora::nn
