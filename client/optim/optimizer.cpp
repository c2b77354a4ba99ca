#include "client/optim/optimizer.h"

#include <algorithm>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::optim {

void check_option(std::string_view optimizer, std::string_view what, double value, double lowest,
                  double limit) {
  if (value >= lowest && value < limit) return;
  refuse(optimizer, str_cat(what, " is ", value, "; it must lie in [", lowest, ", ", limit, ")"));
}

void check_not_negative(std::string_view optimizer, std::string_view what, double value) {
  check_option(optimizer, what, value, 0.0, std::numeric_limits<double>::infinity());
}

void Optimizer::append_group(std::vector<nn::Parameter> parameters) {
  if (parameters.empty()) refuse(name_, "there are no parameters to update");
  std::vector<Slot> slots = slots_;
  for (nn::Parameter& parameter : parameters) {
    const auto same = [&](const Slot& slot) { return slot.parameter == parameter; };
    const auto found = std::ranges::find_if(slots, same);
    if (found != slots.end()) {
      refuse(name_, str_cat("a parameter of shape ", parameter.shape().str(),
                            " is given twice: it is number ", found - slots.begin(), " and number ",
                            slots.size(), "; each may be updated once a step"));
    }
    slots.push_back({std::move(parameter), groups_.size()});
  }
  groups_.push_back({parameters.size()});
  slots_ = std::move(slots);
}

void Optimizer::check_group(size_t group) const {
  if (group < groups_.size()) return;
  refuse(name_, str_cat("there is no group ", group, "; there are ", groups_.size()));
}

bool Optimizer::has_option(std::string_view name) const {
  const OptionValues values = options_of(0);
  return std::ranges::any_of(values, [&](const auto& value) { return value.first == name; });
}

double Optimizer::option(std::string_view name, size_t group) const {
  check_group(group);
  std::string known;
  for (const auto& [option, value] : options_of(group)) {
    if (option == name) return value;
    known += known.empty() ? option : str_cat(", ", option);
  }
  refuse(name_, str_cat("there is no option '", name, "'; there are ", known));
}

void Optimizer::set_option(std::string_view name, double value, size_t group) {
  option(name, group);  // refuses what is not there
  assign_options(group, {{name, value}});
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_not_negative(name_, "learning_rate", learning_rate);
  for (size_t group = 0; group < groups_.size(); ++group) set_learning_rate(learning_rate, group);
}

double Optimizer::initial_learning_rate(size_t group) const {
  check_group(group);
  return groups_[group].initial_learning_rate.value_or(learning_rate(group));
}

void Optimizer::fix_initial_learning_rates() {
  for (size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].initial_learning_rate = initial_learning_rate(group);
  }
}

Tensor Optimizer::number(const Tensor& like, std::string_view role, double value) {
  const void* device = &like.value()->device();
  for (const Number& known : numbers_) {
    if (known.device == device && known.dtype == like.dtype() && known.role == role &&
        known.group == current_->group && known.updates == current_->updates) {
      return known.tensor;
    }
  }
  numbers_.push_back({device, like.dtype(), current_->group, current_->updates, role,
                      constant(like, value, like.dtype())});
  return numbers_.back().tensor;
}

Tensor Optimizer::penalized(const Tensor& values, const Tensor& gradient, double weight_decay) {
  if (weight_decay == 0.0) return gradient;
  return gradient + values * number(values, "weight_decay", weight_decay);
}

Optimizer::Update Optimizer::wide_update(const Tensor& values, const Tensor& gradient,
                                         const Slot& slot) {
  const int64_t count = slot.updates + 1;
  if (!is_half(values.dtype())) {
    return update_in(slot.group, values, gradient, slot.state, count);
  }
  Update wide = update_in(slot.group, astype(values, DType::kF32), astype(gradient, DType::kF32),
                          slot.state, count);
  wide.values = astype(wide.values, values.dtype());
  return wide;
}

void Optimizer::step() {
  std::vector<Device> devices;
  {
    const dispatch::CallScope scope;
    const NoGrad guard;
    const absl::Cleanup forget = [this] {
      numbers_.clear();
      current_ = nullptr;
    };
    std::vector<std::pair<Slot*, Update>> updates;
    for (Slot& slot : slots_) {
      const Tensor& values = slot.parameter.tensor();
      const Device device = values.value()->device().device();
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
      const std::optional<Tensor> gradient = values.grad();
      if (!gradient) continue;
      current_ = &slot;
      updates.emplace_back(&slot, wide_update(values.inner(), *gradient, slot));
    }
    for (auto& [slot, update] : updates) {
      slot->parameter.set(update.values);
      slot->state = std::move(update.state);
      ++slot->updates;
    }
  }
  for (const Device& device : devices) device.flush();
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) {
    const Tensor& values = slot.parameter.tensor();
    if (values.is_leaf()) values.set_grad(std::nullopt);
  }
}

}  // namespace remora::optim
