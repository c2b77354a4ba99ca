// Stochastic gradient descent, as torch.optim.SGD.
#pragma once

#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;

  /// INVALID_ARGUMENT for a negative option, or Nesterov without momentum or with dampening.
  void check() const;
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor visitor) {
    visitor("lr", self.learning_rate);
    visitor("momentum", self.momentum);
    visitor("dampening", self.dampening);
    visitor("weight_decay", self.weight_decay);
    visitor("nesterov", self.nesterov);
  }
};

/// State: momentum_buffer.
class SGD : public OptimizerOf<SgdOptions> {
 public:
  /// INVALID_ARGUMENT as `SgdOptions::check` and `add_group`.
  explicit SGD(std::vector<nn::Parameter> parameters, const SgdOptions& options = {});

 private:
  Update update(const SgdOptions& options, const Tensor& values, const Tensor& gradient,
                const State& state, int64_t count) override;
  std::span<const std::string_view> state_names() const override;
  bool counts_updates() const override { return false; }
};

}  // namespace remora::optim
