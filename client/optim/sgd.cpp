#include "client/optim/sgd.h"

#include <array>

#include "client/apply.h"
#include "client/ops.h"

namespace remora::optim {

void SgdOptions::check() const {
  check_not_negative("SGD", "learning_rate", learning_rate);
  check_not_negative("SGD", "momentum", momentum);
  check_not_negative("SGD", "dampening", dampening);
  check_not_negative("SGD", "weight_decay", weight_decay);
  if (nesterov && (momentum == 0.0 || dampening != 0.0)) {
    refuse("SGD", "nesterov needs a momentum and no dampening");
  }
}

SGD::SGD(std::vector<nn::Parameter> parameters, const SgdOptions& options) : OptimizerOf("SGD") {
  add_group(std::move(parameters), options);
}

std::span<const std::string_view> SGD::state_names() const {
  static constexpr std::array<std::string_view, 1> kNames = {"momentum_buffer"};
  return kNames;
}

Optimizer::Update SGD::update(const SgdOptions& options, const Tensor& values,
                              const Tensor& gradient, const State& state, int64_t /*count*/) {
  Tensor direction = penalized(values, gradient, options.weight_decay);
  State next;
  if (options.momentum != 0.0) {
    const Tensor momentum = number(values, "momentum", options.momentum);
    Tensor velocity = direction;
    if (!state.empty()) {
      const Tensor fresh = options.dampening == 0.0
                               ? direction
                               : direction * number(values, "dampening", 1.0 - options.dampening);
      velocity = state[0] * momentum + fresh;
    }
    direction = options.nesterov ? direction + velocity * momentum : velocity;
    next.push_back(velocity);
  }
  return {values - direction * number(values, "learning_rate", options.learning_rate),
          std::move(next)};
}

}  // namespace remora::optim
