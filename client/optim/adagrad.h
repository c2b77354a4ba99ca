// Adagrad (Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and
// Stochastic Optimization", 2011), as torch.optim.Adagrad.
#pragma once

#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct AdagradOptions {
  double learning_rate = 1e-2;
  double lr_decay = 0.0;  // the rate of update n is learning_rate / (1 + (n - 1) * lr_decay)
  double weight_decay = 0.0;
  double initial_accumulator = 0.0;  // of the sum of squares
  double eps = 1e-10;

  /// INVALID_ARGUMENT for a negative option.
  void check() const;
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor visitor) {
    visitor("lr", self.learning_rate);
    visitor("lr_decay", self.lr_decay);
    visitor("weight_decay", self.weight_decay);
    visitor("initial_accumulator_value", self.initial_accumulator);
    visitor("eps", self.eps);
  }
};

/// State: step, sum.
class Adagrad : public OptimizerOf<AdagradOptions> {
 public:
  /// INVALID_ARGUMENT as `AdagradOptions::check` and `add_group`.
  explicit Adagrad(std::vector<nn::Parameter> parameters, const AdagradOptions& options = {});

 private:
  Update update(const AdagradOptions& options, const Tensor& values, const Tensor& gradient,
                const State& state, int64_t count) override;
  std::span<const std::string_view> state_names() const override;
};

}  // namespace remora::optim
