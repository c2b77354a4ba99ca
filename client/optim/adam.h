// Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015) and Adam with decoupled
// weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019), as
// torch.optim.Adam and AdamW.
#pragma once

#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;  // added to the gradient
  bool amsgrad = false;       // divide by the largest mean of squares so far

  /// INVALID_ARGUMENT unless the betas lie in [0, 1) and the rest is not negative.
  void check() const;
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor visitor) {
    visitor("lr", self.learning_rate);
    visitor("betas.0", self.beta1);
    visitor("betas.1", self.beta2);
    visitor("eps", self.eps);
    visitor("weight_decay", self.weight_decay);
    visitor("amsgrad", self.amsgrad);
  }
};

/// State: step, exp_avg, exp_avg_sq and, with amsgrad, max_exp_avg_sq.
class Adam : public OptimizerOf<AdamOptions> {
 public:
  /// INVALID_ARGUMENT as `AdamOptions::check` and `add_group`.
  explicit Adam(std::vector<nn::Parameter> parameters, const AdamOptions& options = {});

 private:
  Update update(const AdamOptions& options, const Tensor& values, const Tensor& gradient,
                const State& state, int64_t count) override;
  std::span<const std::string_view> state_names() const override;
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;  // times the learning rate, taken off the values themselves
  bool amsgrad = false;

  void check() const;
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor visitor) {
    AdamOptions::visit(self, visitor);
  }
};

/// State as Adam's.
class AdamW : public OptimizerOf<AdamWOptions> {
 public:
  explicit AdamW(std::vector<nn::Parameter> parameters, const AdamWOptions& options = {});

 private:
  Update update(const AdamWOptions& options, const Tensor& values, const Tensor& gradient,
                const State& state, int64_t count) override;
  std::span<const std::string_view> state_names() const override;
};

}  // namespace remora::optim
