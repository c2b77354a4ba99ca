#include "client/optim/rmsprop.h"

#include <array>

#include "client/ops.h"

namespace remora::optim {

void RmspropOptions::check() const {
  check_not_negative("RMSprop", "learning_rate", learning_rate);
  check_not_negative("RMSprop", "alpha", alpha);
  check_not_negative("RMSprop", "eps", eps);
  check_not_negative("RMSprop", "weight_decay", weight_decay);
  check_not_negative("RMSprop", "momentum", momentum);
}

RMSprop::RMSprop(std::vector<nn::Parameter> parameters, const RmspropOptions& options)
    : OptimizerOf("RMSprop") {
  add_group(std::move(parameters), options);
}

namespace {
enum Place : size_t { kSquareMean, kVelocity, kMean, kPlaces };
}  // namespace

std::span<const std::string_view> RMSprop::state_names() const {
  static constexpr std::array<std::string_view, kPlaces> kNames = {"square_avg", "momentum_buffer",
                                                                   "grad_avg"};
  return kNames;
}

Optimizer::Update RMSprop::update(const RmspropOptions& options, const Tensor& values,
                                  const Tensor& gradient, const State& state, int64_t /*count*/) {
  const auto n = [&](std::string_view role, double value) { return number(values, role, value); };
  const auto kept = [&](Place place) {
    return place < state.size() && state[place].defined() ? state[place] : zeros_like(values);
  };
  const Tensor direction = penalized(values, gradient, options.weight_decay);
  const Tensor alpha = n("alpha", options.alpha);
  const Tensor fresh = n("1 - alpha", 1.0 - options.alpha);
  State next(kPlaces);
  next[kSquareMean] = kept(kSquareMean) * alpha + square(direction) * fresh;
  Tensor variance = next[kSquareMean];
  if (options.centered) {
    next[kMean] = kept(kMean) * alpha + direction * fresh;
    variance = variance - square(next[kMean]);
  }
  Tensor change = direction / (sqrt(variance) + n("eps", options.eps));
  if (options.momentum != 0.0) {
    change = next[kVelocity] = kept(kVelocity) * n("momentum", options.momentum) + change;
  }
  return {values - change * n("learning_rate", options.learning_rate), std::move(next)};
}

}  // namespace remora::optim
