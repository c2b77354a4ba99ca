#include "client/optim/sgd.h"

#include <limits>

#include "client/apply.h"
#include "client/ops.h"

namespace remora::optim {

SGD::SGD(std::vector<nn::Parameter> parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate), options_(options) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  check_option("SGD", "momentum", options.momentum, 0.0, kNoLimit);
  check_option("SGD", "dampening", options.dampening, 0.0, kNoLimit);
  check_option("SGD", "weight_decay", options.weight_decay, 0.0, kNoLimit);
  if (options.nesterov && (options.momentum == 0.0 || options.dampening != 0.0)) {
    refuse("SGD", "nesterov needs a momentum and no dampening");
  }
}

Optimizer::Update SGD::update(const Tensor& values, const Tensor& gradient, const State& state,
                              int64_t /*count*/) {
  Tensor direction = gradient;
  if (options_.weight_decay != 0.0) {
    direction = direction + values * number(values, "weight_decay", options_.weight_decay);
  }
  State next;
  if (options_.momentum != 0.0) {
    const Tensor momentum = number(values, "momentum", options_.momentum);
    Tensor velocity = direction;
    if (!state.empty()) {
      const Tensor fresh = options_.dampening == 0.0
                               ? direction
                               : direction * number(values, "dampening", 1.0 - options_.dampening);
      velocity = state[0] * momentum + fresh;
    }
    direction = options_.nesterov ? direction + velocity * momentum : velocity;
    next.push_back(velocity);
  }
  return {values - direction * number(values, "learning_rate", learning_rate()), std::move(next)};
}

}  // namespace remora::optim
