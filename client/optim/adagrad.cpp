#include "client/optim/adagrad.h"

#include <array>

#include "client/ops.h"

namespace remora::optim {

void AdagradOptions::check() const {
  check_not_negative("Adagrad", "learning_rate", learning_rate);
  check_not_negative("Adagrad", "lr_decay", lr_decay);
  check_not_negative("Adagrad", "weight_decay", weight_decay);
  check_not_negative("Adagrad", "initial_accumulator", initial_accumulator);
  check_not_negative("Adagrad", "eps", eps);
}

Adagrad::Adagrad(std::vector<nn::Parameter> parameters, const AdagradOptions& options)
    : OptimizerOf("Adagrad") {
  add_group(std::move(parameters), options);
}

std::span<const std::string_view> Adagrad::state_names() const {
  static constexpr std::array<std::string_view, 1> kNames = {"sum"};
  return kNames;
}

Optimizer::Update Adagrad::update(const AdagradOptions& options, const Tensor& values,
                                  const Tensor& gradient, const State& state, int64_t count) {
  const auto n = [&](std::string_view role, double value) { return number(values, role, value); };
  const Tensor direction = penalized(values, gradient, options.weight_decay);
  const double rate =
      options.learning_rate / (1.0 + static_cast<double>(count - 1) * options.lr_decay);
  const Tensor before = state.empty() ? full_like(values, options.initial_accumulator) : state[0];
  const Tensor squares = before + square(direction);
  const Tensor change = direction / (sqrt(squares) + n("eps", options.eps));
  return {values - change * n("learning_rate", rate), {squares}};
}

}  // namespace remora::optim
