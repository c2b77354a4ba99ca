#include "client/optim/optimizer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::optim {

void check_option(const char* optimizer, const char* what, double value, double lowest,
                  double limit) {
  if (value >= lowest && value < limit) return;
  refuse(optimizer, str_cat(what, " is ", value, "; it must lie in [", lowest, ", ", limit, ")"));
}

Optimizer::Optimizer(std::vector<nn::Parameter> parameters, double learning_rate)
    : learning_rate_(learning_rate) {
  if (parameters.empty()) refuse("optimizer", "there are no parameters to update");
  set_learning_rate(learning_rate);
  for (nn::Parameter& parameter : parameters) slots_.push_back({std::move(parameter), {}, 0});
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_option("optimizer", "learning_rate", learning_rate, 0.0,
               std::numeric_limits<double>::infinity());
  learning_rate_ = learning_rate;
}

Tensor Optimizer::number(const Tensor& like, std::string_view role, double value) {
  const void* device = &like.value()->device();
  for (const Number& known : numbers_) {
    if (known.device == device && known.dtype == like.dtype() && known.role == role &&
        std::bit_cast<uint64_t>(known.value) == std::bit_cast<uint64_t>(value)) {
      return known.tensor;
    }
  }
  numbers_.push_back({device, like.dtype(), role, value, constant(like, value, like.dtype())});
  return numbers_.back().tensor;
}

Optimizer::Update Optimizer::wide_update(const Tensor& values, const Tensor& gradient,
                                         const Slot& slot) {
  const int64_t count = slot.updates + 1;
  if (!is_half(values.dtype())) return update(values, gradient, slot.state, count);
  Update wide =
      update(astype(values, DType::kF32), astype(gradient, DType::kF32), slot.state, count);
  wide.values = astype(wide.values, values.dtype());
  return wide;
}

void Optimizer::step() {
  std::vector<Device> devices;
  {
    const dispatch::CallScope scope;
    const NoGrad guard;
    const absl::Cleanup forget = [this] { numbers_.clear(); };
    std::vector<std::pair<Slot*, Update>> updates;
    for (Slot& slot : slots_) {
      const Tensor& values = slot.parameter.tensor();
      const Device device = values.value()->device().device();
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
      const std::optional<Tensor> gradient = values.grad();
      if (!gradient) continue;
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
