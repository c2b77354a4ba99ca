// Saving an optimizer's state and taking it up again.
#include "absl/container/flat_hash_map.h"
#include "client/apply.h"
#include "client/optim/optimizer.h"
#include "client/promotion.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"

namespace remora::optim {

namespace {

constexpr std::string_view kInitialRate = "initial_lr";
constexpr std::string_view kGroupSize = "params";

std::string state_key(size_t parameter, std::string_view name) {
  return str_cat("state.", parameter, ".", name);
}
std::string group_key(size_t group, std::string_view name) {
  return str_cat("param_groups.", group, ".", name);
}

}  // namespace

OptimizerState Optimizer::state_dict() const {
  OptimizerState state;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.updates > 0 && counts_updates()) {
      state.numbers.emplace_back(state_key(i, "step"), static_cast<double>(slot.updates));
    }
    for (size_t k = 0; k < slot.state.size(); ++k) {
      if (slot.state[k].defined()) {
        state.tensors.add(state_key(i, state_names()[k]), slot.state[k]);
      }
    }
  }
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (const auto& [name, value] : options_of(group)) {
      state.numbers.emplace_back(group_key(group, name), value);
    }
    if (groups_[group].initial_learning_rate) {
      state.numbers.emplace_back(group_key(group, kInitialRate),
                                 *groups_[group].initial_learning_rate);
    }
    state.numbers.emplace_back(group_key(group, kGroupSize),
                               static_cast<double>(groups_[group].parameters));
  }
  return state;
}

/// Hands out the entries of a state by name, each once; what nobody asked for is unknown.
class Optimizer::StateReader {
 public:
  StateReader(std::string_view optimizer, const OptimizerState& state) : optimizer_(optimizer) {
    for (const auto& [name, tensor] : state.tensors) {
      tensors_.emplace(name, &tensor);
    }
    for (const auto& [name, number] : state.numbers) {
      if (!numbers_.emplace(name, number).second) refuse_twice(name);
    }
  }

  std::optional<double> number(const std::string& name) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return std::nullopt;
    const double value = found->second;
    numbers_.erase(found);
    return value;
  }
  double required_number(const std::string& name) {
    const std::optional<double> value = number(name);
    if (!value) refuse(optimizer_, str_cat("the state has no '", name, "'"));
    return *value;
  }
  /// Undefined if there is none. Must be like `values` but for the device.
  Tensor tensor(const std::string& name, const Tensor& values) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    const Tensor& tensor = *found->second;
    tensors_.erase(found);
    const DType dtype = is_half(values.dtype()) ? DType::kF32 : values.dtype();
    if (tensor.shape() != values.shape() || tensor.dtype() != dtype) {
      refuse(optimizer_,
             str_cat("'", name, "' is ", tensor.spec().str(), "; for its parameter ",
                     values.spec().str(), " it must be ", Spec{dtype, values.shape()}.str()));
    }
    return tensor.inner().to(values.value()->device().device());
  }
  void check_empty() const {
    if (!tensors_.empty()) refuse_unknown(tensors_.begin()->first);
    if (!numbers_.empty()) refuse_unknown(numbers_.begin()->first);
  }

 private:
  [[noreturn]] void refuse_twice(std::string_view name) const {
    refuse(optimizer_, str_cat("the state has '", name, "' twice"));
  }
  [[noreturn]] void refuse_unknown(std::string_view name) const {
    refuse(optimizer_, str_cat("the state's '", name,
                               "' is unknown: it is of another optimizer or of more parameters"));
  }

  const std::string_view optimizer_;
  absl::flat_hash_map<std::string, const Tensor*> tensors_;
  absl::flat_hash_map<std::string, double> numbers_;
};

std::vector<Optimizer::Slot> Optimizer::read_slots(StateReader& reader) const {
  constexpr double kMaxUpdates = 0x1p53;
  std::vector<Slot> slots = slots_;
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    State state;
    bool any = false;
    for (const std::string_view name : state_names()) {
      state.push_back(reader.tensor(state_key(i, name), slot.parameter.tensor()));
      any |= state.back().defined();
    }
    slot.state = any ? std::move(state) : State();
    slot.updates = 0;
    if (!counts_updates()) continue;
    const std::string key = state_key(i, "step");
    const double updates = any ? reader.required_number(key) : reader.number(key).value_or(0.0);
    if (!(updates >= (any ? 1.0 : 0.0) && updates <= kMaxUpdates)) {
      refuse(name_, str_cat("'", key, "' is ", updates, "; it counts updates"));
    }
    if (!any && updates > 0) refuse(name_, str_cat("the state has '", key, "' but no tensors"));
    slot.updates = static_cast<int64_t>(updates);
  }
  return slots;
}

void Optimizer::load_state_dict(const OptimizerState& state) {
  StateReader reader(name_, state);
  std::vector<Slot> slots = read_slots(reader);
  std::vector<Group> groups = groups_;
  std::vector<OptionValues> options;
  for (size_t group = 0; group < groups.size(); ++group) {
    const double count = reader.required_number(group_key(group, kGroupSize));
    if (count != static_cast<double>(groups[group].parameters)) {
      refuse(name_, str_cat("group ", group, " has ", groups[group].parameters,
                            " parameters, that of the state ", count));
    }
    OptionValues values = options_of(group);
    for (auto& [name, value] : values) value = reader.required_number(group_key(group, name));
    check_options(group, values);
    groups[group].initial_learning_rate = reader.number(group_key(group, kInitialRate));
    options.push_back(std::move(values));
  }
  reader.check_empty();
  for (size_t group = 0; group < groups.size(); ++group) assign_options(group, options[group]);
  slots_ = std::move(slots);
  groups_ = std::move(groups);
}

}  // namespace remora::optim
