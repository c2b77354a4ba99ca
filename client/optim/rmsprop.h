// RMSprop (Hinton, "Neural Networks for Machine Learning", lecture 6), as torch.optim.RMSprop.
#pragma once

#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct RmspropOptions {
  double learning_rate = 1e-2;
  double alpha = 0.99;  // of the running mean of squares
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;  // divide by the deviation instead of the root of the mean of squares

  /// INVALID_ARGUMENT for a negative option.
  void check() const;
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor visitor) {
    visitor("lr", self.learning_rate);
    visitor("alpha", self.alpha);
    visitor("eps", self.eps);
    visitor("weight_decay", self.weight_decay);
    visitor("momentum", self.momentum);
    visitor("centered", self.centered);
  }
};

/// State: step, square_avg, momentum_buffer with a momentum, grad_avg if centered.
class RMSprop : public OptimizerOf<RmspropOptions> {
 public:
  /// INVALID_ARGUMENT as `RmspropOptions::check` and `add_group`.
  explicit RMSprop(std::vector<nn::Parameter> parameters, const RmspropOptions& options = {});

 private:
  Update update(const RmspropOptions& options, const Tensor& values, const Tensor& gradient,
                const State& state, int64_t count) override;
  std::span<const std::string_view> state_names() const override;
};

}  // namespace remora::optim
