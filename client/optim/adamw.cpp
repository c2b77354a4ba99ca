#include "client/optim/adamw.h"

#include <cmath>
#include <limits>

#include "client/ops.h"

namespace remora::optim {

AdamW::AdamW(std::vector<nn::Parameter> parameters, const AdamWOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate), options_(options) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  check_option("AdamW", "beta1", options.beta1, 0.0, 1.0);
  check_option("AdamW", "beta2", options.beta2, 0.0, 1.0);
  check_option("AdamW", "eps", options.eps, 0.0, kNoLimit);
  check_option("AdamW", "weight_decay", options.weight_decay, 0.0, kNoLimit);
}

Optimizer::Update AdamW::update(const Tensor& values, const Tensor& gradient, const State& state,
                                int64_t count) {
  const double beta1 = options_.beta1;
  const double beta2 = options_.beta2;
  const double correction1 = 1.0 - std::pow(beta1, static_cast<double>(count));
  const double correction2 = 1.0 - std::pow(beta2, static_cast<double>(count));
  const auto n = [&](std::string_view role, double value) { return number(values, role, value); };
  const Tensor mean = state.empty() ? zeros_like(values) : state[0];
  const Tensor square_mean = state.empty() ? zeros_like(values) : state[1];

  const Tensor decayed = values * n("decay", 1.0 - learning_rate() * options_.weight_decay);
  const Tensor next_mean = mean + (gradient - mean) * n("1 - beta1", 1.0 - beta1);
  const Tensor next_square =
      square_mean * n("beta2", beta2) + square(gradient) * n("1 - beta2", 1.0 - beta2);
  const Tensor denominator =
      sqrt(next_square) / n("correction2", std::sqrt(correction2)) + n("eps", options_.eps);
  const Tensor next =
      decayed - next_mean / denominator * n("step size", learning_rate() / correction1);
  return {next, {next_mean, next_square}};
}

}  // namespace remora::optim
