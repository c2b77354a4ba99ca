#include "client/optim/plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/apply.h"
#include "dispatch/str_cat.h"

namespace remora::optim {

namespace {
constexpr std::string_view kName = "ReduceLROnPlateau";
}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options)
    : optimizer_(optimizer),
      options_(options),
      best_(options.mode == PlateauOptions::Mode::kMin ? std::numeric_limits<double>::infinity()
                                                       : -std::numeric_limits<double>::infinity()) {
  check_option(kName, "factor", options.factor, 0.0, 1.0);
  check_not_negative(kName, "patience", static_cast<double>(options.patience));
  check_not_negative(kName, "threshold", options.threshold);
  check_not_negative(kName, "cooldown", static_cast<double>(options.cooldown));
  check_not_negative(kName, "lowest", options.lowest);
  check_not_negative(kName, "eps", options.eps);
}

bool ReduceLROnPlateau::improves(double metric) const {
  const bool relative = options_.threshold_mode == PlateauOptions::Threshold::kRelative;
  if (options_.mode == PlateauOptions::Mode::kMin) {
    return metric < (relative ? best_ * (1.0 - options_.threshold) : best_ - options_.threshold);
  }
  return metric > (relative ? best_ * (1.0 + options_.threshold) : best_ + options_.threshold);
}

void ReduceLROnPlateau::reduce() {
  for (size_t group = 0; group < optimizer_.groups(); ++group) {
    const double before = optimizer_.learning_rate(group);
    const double after = std::max(before * options_.factor, options_.lowest);
    if (before - after > options_.eps) optimizer_.set_learning_rate(after, group);
  }
}

void ReduceLROnPlateau::step(double metric) {
  if (improves(metric)) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_ = 0;
  }
  if (bad_ > options_.patience) {
    reduce();
    cooldown_ = options_.cooldown;
    bad_ = 0;
  }
}

std::vector<std::pair<std::string, double>> ReduceLROnPlateau::state_dict() const {
  return {{"best", best_},
          {"num_bad_epochs", static_cast<double>(bad_)},
          {"cooldown_counter", static_cast<double>(cooldown_)}};
}

void ReduceLROnPlateau::load_state_dict(const std::vector<std::pair<std::string, double>>& state) {
  const auto expected = state_dict();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (state.size() != expected.size() || state[i].first != expected[i].first) {
      refuse(kName, "the state must have 'best', 'num_bad_epochs' and 'cooldown_counter'");
    }
    constexpr double kMaxCount = 0x1p53;
    if (i > 0 && !(state[i].second >= 0.0 && state[i].second <= kMaxCount)) {
      refuse(kName, str_cat("'", state[i].first, "' is ", state[i].second, "; it counts calls"));
    }
  }
  best_ = state[0].second;
  bad_ = static_cast<int64_t>(state[1].second);
  cooldown_ = static_cast<int64_t>(state[2].second);
}

}  // namespace remora::optim
