#include "client/optim/adam.h"

#include <array>
#include <cmath>

#include "client/ops.h"

namespace remora::optim {

namespace {

constexpr std::array<std::string_view, 3> kStateNames = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

template <typename Options>
void check_adam(std::string_view name, const Options& options) {
  check_not_negative(name, "learning_rate", options.learning_rate);
  check_option(name, "beta1", options.beta1, 0.0, 1.0);
  check_option(name, "beta2", options.beta2, 0.0, 1.0);
  check_not_negative(name, "eps", options.eps);
  check_not_negative(name, "weight_decay", options.weight_decay);
}

struct Moments {
  std::vector<Tensor> state;
  Tensor change;  // to be subtracted from the values
};

/// `number(role, value)` makes a number of the step.
template <typename Options, typename Number>
Moments next_moments(const Options& options, const Tensor& gradient,
                     const std::vector<Tensor>& state, int64_t count, Number number) {
  const double correction1 = 1.0 - std::pow(options.beta1, static_cast<double>(count));
  const double correction2 = 1.0 - std::pow(options.beta2, static_cast<double>(count));
  const auto kept = [&](size_t place) {
    return place < state.size() && state[place].defined() ? state[place] : zeros_like(gradient);
  };
  const Tensor mean = kept(0);
  const Tensor next_mean = mean + (gradient - mean) * number("1 - beta1", 1.0 - options.beta1);
  const Tensor next_square = kept(1) * number("beta2", options.beta2) +
                             square(gradient) * number("1 - beta2", 1.0 - options.beta2);
  Moments next{{next_mean, next_square}, {}};
  if (options.amsgrad) next.state.push_back(maximum(kept(2), next_square));
  const Tensor denominator =
      sqrt(next.state.back()) / number("correction2", std::sqrt(correction2)) +
      number("eps", options.eps);
  next.change = next_mean / denominator * number("step size", options.learning_rate / correction1);
  return next;
}

}  // namespace

void AdamOptions::check() const { check_adam("Adam", *this); }
void AdamWOptions::check() const { check_adam("AdamW", *this); }

Adam::Adam(std::vector<nn::Parameter> parameters, const AdamOptions& options)
    : OptimizerOf("Adam") {
  add_group(std::move(parameters), options);
}

AdamW::AdamW(std::vector<nn::Parameter> parameters, const AdamWOptions& options)
    : OptimizerOf("AdamW") {
  add_group(std::move(parameters), options);
}

std::span<const std::string_view> Adam::state_names() const { return kStateNames; }
std::span<const std::string_view> AdamW::state_names() const { return kStateNames; }

Optimizer::Update Adam::update(const AdamOptions& options, const Tensor& values,
                               const Tensor& gradient, const State& state, int64_t count) {
  const auto n = [&](std::string_view role, double value) { return number(values, role, value); };
  const Tensor direction = penalized(values, gradient, options.weight_decay);
  Moments next = next_moments(options, direction, state, count, n);
  return {values - next.change, std::move(next.state)};
}

Optimizer::Update AdamW::update(const AdamWOptions& options, const Tensor& values,
                                const Tensor& gradient, const State& state, int64_t count) {
  const auto n = [&](std::string_view role, double value) { return number(values, role, value); };
  const Tensor decayed = values * n("decay", 1.0 - options.learning_rate * options.weight_decay);
  Moments next = next_moments(options, gradient, state, count, n);
  return {decayed - next.change, std::move(next.state)};
}

}  // namespace remora::optim
