#include "client/optim/schedulers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "client/apply.h"
#include "dispatch/str_cat.h"

namespace remora::optim {

namespace {

void check_positive(std::string_view scheduler, std::string_view what, int64_t value) {
  if (value < 1) refuse(scheduler, str_cat(what, " is ", value, "; it must be at least 1"));
}

void check_finite(std::string_view scheduler, std::string_view what, double value) {
  if (!std::isfinite(value)) refuse(scheduler, str_cat(what, " is ", value));
}

}  // namespace

Scheduler::Scheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  optimizer.fix_initial_learning_rates();
}

void Scheduler::go_to(int64_t count) {
  set_rates(count);
  count_ = count;
}

void Scheduler::set_rates(int64_t count) const {
  std::vector<double> rates;
  for (size_t group = 0; group < optimizer_.groups(); ++group) {
    rates.push_back(rate(optimizer_.initial_learning_rate(group), group, count));
    check_not_negative("scheduler", "learning_rate", rates.back());
  }
  for (size_t group = 0; group < rates.size(); ++group) {
    optimizer_.set_learning_rate(rates[group], group);
  }
}

double Scheduler::rate(double initial, size_t /*group*/, int64_t /*count*/) const {
  return initial;
}

std::vector<std::pair<std::string, double>> Scheduler::state_dict() const {
  return {{"last_epoch", static_cast<double>(count_)}};
}

void Scheduler::load_state_dict(const std::vector<std::pair<std::string, double>>& state) {
  constexpr double kMaxCount = 0x1p53;
  if (state.size() != 1 || state[0].first != "last_epoch") {
    refuse("scheduler", "the state must have 'last_epoch' and nothing else");
  }
  const double count = state[0].second;
  if (!(count >= 0.0 && count <= kMaxCount)) {
    refuse("scheduler", str_cat("'last_epoch' is ", count, "; it counts steps"));
  }
  go_to(static_cast<int64_t>(count));
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : Scheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  check_positive("StepLR", "step_size", step_size);
  check_not_negative("StepLR", "gamma", gamma);
  start();
}

double StepLR::rate(double initial, size_t /*group*/, int64_t count) const {
  const int64_t drops = count / step_size_;
  return initial * std::pow(gamma_, static_cast<double>(drops));
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : Scheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  check_not_negative("MultiStepLR", "gamma", gamma);
  std::ranges::sort(milestones_);
  start();
}

double MultiStepLR::rate(double initial, size_t /*group*/, int64_t count) const {
  const auto passed = std::ranges::upper_bound(milestones_, count) - milestones_.begin();
  return initial * std::pow(gamma_, static_cast<double>(passed));
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : Scheduler(optimizer), gamma_(gamma) {
  check_not_negative("ExponentialLR", "gamma", gamma);
  start();
}

double ExponentialLR::rate(double initial, size_t /*group*/, int64_t count) const {
  return initial * std::pow(gamma_, static_cast<double>(count));
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t half_period, double lowest)
    : Scheduler(optimizer), half_period_(half_period), lowest_(lowest) {
  check_positive("CosineAnnealingLR", "half_period", half_period);
  check_not_negative("CosineAnnealingLR", "lowest", lowest);
  start();
}

double CosineAnnealingLR::rate(double initial, size_t /*group*/, int64_t count) const {
  const double angle =
      std::numbers::pi * static_cast<double>(count) / static_cast<double>(half_period_);
  return lowest_ + (initial - lowest_) * (1.0 + std::cos(angle)) / 2.0;
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t steps)
    : Scheduler(optimizer), start_factor_(start_factor), end_factor_(end_factor), steps_(steps) {
  check_positive("LinearLR", "steps", steps);
  check_finite("LinearLR", "end_factor", end_factor);
  if (!(start_factor > 0.0 && start_factor <= 1.0)) {
    refuse("LinearLR", str_cat("start_factor is ", start_factor, "; it must lie in (0, 1]"));
  }
  if (!(end_factor >= 0.0 && end_factor <= 1.0)) {
    refuse("LinearLR", str_cat("end_factor is ", end_factor, "; it must lie in [0, 1]"));
  }
  start();
}

double LinearLR::rate(double initial, size_t /*group*/, int64_t count) const {
  const double part = static_cast<double>(std::min(count, steps_)) / static_cast<double>(steps_);
  return initial * (start_factor_ + (end_factor_ - start_factor_) * part);
}

LambdaLR::LambdaLR(Optimizer& optimizer, const Factor& factor)
    : LambdaLR(optimizer, std::vector<Factor>(optimizer.groups(), factor)) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Factor> factors)
    : Scheduler(optimizer), factors_(std::move(factors)) {
  if (factors_.size() != optimizer.groups()) {
    refuse("LambdaLR", str_cat(factors_.size(), " factors for ", optimizer.groups(), " groups"));
  }
  if (std::ranges::any_of(factors_, [](const Factor& factor) { return factor == nullptr; })) {
    refuse("LambdaLR", "a factor is no function");
  }
  start();
}

double LambdaLR::rate(double initial, size_t group, int64_t count) const {
  return initial * factors_[group](count);
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, double max_learning_rate, int64_t total_steps,
                       const OneCycleOptions& options)
    : Scheduler(optimizer),
      total_steps_(total_steps),
      options_(options),
      max_rate_(max_learning_rate) {
  check_positive("OneCycleLR", "total_steps", total_steps);
  check_not_negative("OneCycleLR", "max_learning_rate", max_learning_rate);
  for (const double factor : {options.div_factor, options.final_div_factor}) {
    check_finite("OneCycleLR", "a div_factor", factor);
    if (factor <= 0.0) refuse("OneCycleLR", str_cat("a div_factor is ", factor, ", not positive"));
  }
  if (!(options.warm_up >= 0.0 && options.warm_up <= 1.0)) {
    refuse("OneCycleLR", str_cat("warm_up is ", options.warm_up, "; it must lie in [0, 1]"));
  }
  if (options.cycle_momentum && !optimizer.has_option("momentum") &&
      !optimizer.has_option("betas.0")) {
    refuse("OneCycleLR", "the optimizer has no momentum to cycle; set cycle_momentum to false");
  }
  const double first = max_rate_ / options.div_factor;
  const double last = first / options.final_div_factor;
  const double end = static_cast<double>(total_steps - 1);
  const double peak = options.warm_up * static_cast<double>(total_steps) - 1.0;
  const double high = options.max_momentum;
  const double low = options.base_momentum;
  phases_.push_back({peak, first, max_rate_, high, low});
  if (options.three_phases) {
    phases_.push_back({2.0 * peak, max_rate_, first, low, high});
    phases_.push_back({end, first, last, high, high});
  } else {
    phases_.push_back({end, max_rate_, last, low, high});
  }
  start();
}

double OneCycleLR::annealed(double first, double last, double part) const {
  if (options_.anneal == OneCycleOptions::Anneal::kLinear) return first + (last - first) * part;
  return last + (first - last) / 2.0 * (1.0 + std::cos(std::numbers::pi * part));
}

void OneCycleLR::set_rates(int64_t count) const {
  if (count > total_steps_) {
    throw Error(absl::FailedPreconditionError(
        str_cat("OneCycleLR: step ", count, " of a cycle of ", total_steps_, " steps")));
  }
  // A loop that ends with step() asks once for the rate of a step that it never takes.
  const auto place = static_cast<double>(std::min(count, total_steps_ - 1));
  double begin = 0.0;
  size_t index = 0;
  while (index + 1 < phases_.size() && place > phases_[index].end) {
    begin = phases_[index++].end;
  }
  const Phase& phase = phases_[index];
  const double length = phase.end - begin;
  const double part = length == 0.0 ? 1.0 : (place - begin) / length;
  const double momentum = annealed(phase.first_momentum, phase.last_momentum, part);
  const std::string_view name = optimizer().has_option("momentum") ? "momentum" : "betas.0";
  for (size_t group = 0; group < optimizer().groups(); ++group) {
    optimizer().set_learning_rate(annealed(phase.first_rate, phase.last_rate, part), group);
    if (options_.cycle_momentum) optimizer().set_option(name, momentum, group);
  }
}

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<Scheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : Scheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  if (schedulers_.empty() || milestones_.size() + 1 != schedulers_.size()) {
    refuse("SequentialLR", str_cat(schedulers_.size(), " schedulers and ", milestones_.size(),
                                   " milestones; there must be one milestone between any two"));
  }
  if (!std::ranges::is_sorted(milestones_)) refuse("SequentialLR", "the milestones must ascend");
  for (const std::shared_ptr<Scheduler>& scheduler : schedulers_) {
    if (scheduler == nullptr || &scheduler->optimizer() != &optimizer) {
      refuse("SequentialLR", "a scheduler drives another optimizer");
    }
  }
  start();
}

void SequentialLR::set_rates(int64_t count) const {
  const auto index = std::ranges::upper_bound(milestones_, count) - milestones_.begin();
  const int64_t begin = index == 0 ? 0 : milestones_[static_cast<size_t>(index - 1)];
  schedulers_[static_cast<size_t>(index)]->go_to(count - begin);
}

}  // namespace remora::optim
