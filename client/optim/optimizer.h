// Optimizer: updates parameters from their gradients. The options of a group of parameters (its
// learning rate among them) are numbers that may change at every step: none is part of a plan.
// Owned by the training loop; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/nn/parameter.h"
#include "client/tensor.h"
#include "client/tensor_map.h"

namespace remora::optim {

/// What has to be saved to go on later, by PyTorch's names. Parameters are counted over all groups.
struct OptimizerState {
  TensorMap tensors;                                    // "state.0.exp_avg"
  std::vector<std::pair<std::string, double>> numbers;  // "state.0.step", "param_groups.0.lr"
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;

  /// One update of every parameter that has a gradient. Records the update, swaps the parameters'
  /// values, lets go of the old ones, and then ends this thread's window on every device that holds
  /// a parameter: a training step is one window. If it throws, nothing has changed.
  void step();
  /// Clears every gradient.
  void zero_grad();

  size_t groups() const { return groups_.size(); }
  /// Of every group, or of one. Takes effect at the next step; never changes a plan.
  /// INVALID_ARGUMENT if negative or not a number.
  void set_learning_rate(double learning_rate);
  void set_learning_rate(double learning_rate, size_t group) {
    set_option("lr", learning_rate, group);
  }
  double learning_rate(size_t group = 0) const { return option("lr", group); }
  /// Any option by PyTorch's name ("lr", "momentum", "betas.0"); a flag is 0 or 1. INVALID_ARGUMENT
  /// for a name or group that is not there, or a value that the constructor would refuse.
  double option(std::string_view name, size_t group = 0) const;
  void set_option(std::string_view name, double value, size_t group = 0);
  bool has_option(std::string_view name) const;

  /// What each group's rate was when the first scheduler met it ("initial_lr"): schedules are
  /// factors of it.
  double initial_learning_rate(size_t group) const;
  void fix_initial_learning_rates();

  /// Tensors are shared, not copied: an update makes new ones.
  OptimizerState state_dict() const;
  /// Continues where `state_dict` stood: an optimizer of the same groups of as many parameters, on
  /// whatever devices. If it throws, nothing has changed. INVALID_ARGUMENT names what is missing,
  /// unknown or of another shape.
  void load_state_dict(const OptimizerState& state);

 protected:
  /// `name` is used in errors: "SGD".
  explicit Optimizer(std::string_view name) : name_(name) {}

  /// What an optimizer keeps for one parameter: plain tensors, one for each of `state_names`,
  /// undefined where there is none. Empty at a parameter's first update.
  using State = std::vector<Tensor>;
  struct Update {
    Tensor values;
    State state;
  };
  using OptionValues = std::vector<std::pair<std::string_view, double>>;

  /// Adds the parameters as a group. INVALID_ARGUMENT without parameters or for one that is there
  /// already.
  void append_group(std::vector<nn::Parameter> parameters);
  /// A number as a tensor on `like`'s device: a number that changes from step to step never changes
  /// a plan. Within a step one role has one value for each group and count of updates, and is made
  /// once for them, so that every step records the same ops whatever the numbers are.
  Tensor number(const Tensor& like, std::string_view role, double value);
  /// The gradient of the loss with an L2 penalty of weight_decay / 2 added.
  Tensor penalized(const Tensor& values, const Tensor& gradient, double weight_decay);

 private:
  struct Slot {
    nn::Parameter parameter;
    size_t group = 0;
    State state = {};
    int64_t updates = 0;
  };
  struct Group {
    size_t parameters = 0;
    std::optional<double> initial_learning_rate = {};
  };
  /// `update_in`, in f32 for parameters of f16 and bf16: their state is f32, only the values round.
  Update wide_update(const Tensor& values, const Tensor& gradient, const Slot& slot);

  struct Number {
    const void* device;
    DType dtype;
    size_t group;
    int64_t updates;
    std::string_view role;
    Tensor tensor;
  };

  /// The new values and state, given plain tensors. `count` counts this parameter's updates from 1.
  virtual Update update_in(size_t group, const Tensor& values, const Tensor& gradient,
                           const State& state, int64_t count) = 0;
  virtual std::span<const std::string_view> state_names() const = 0;
  /// True if `count` matters, so that it is part of the state.
  virtual bool counts_updates() const { return true; }
  /// All options of a group by name.
  virtual OptionValues options_of(size_t group) const = 0;
  /// Replaces the named ones; checks them first.
  virtual void assign_options(size_t group, const OptionValues& values) = 0;
  virtual void check_options(size_t group, const OptionValues& values) const = 0;

  void check_group(size_t group) const;
  class StateReader;
  std::vector<Slot> read_slots(StateReader& reader) const;

  const std::string_view name_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  std::vector<Number> numbers_;    // of the step that is being recorded
  const Slot* current_ = nullptr;  // whose update is being recorded
};

/// An optimizer whose groups have options of one type. `Options` is an aggregate with a `check`
/// that throws INVALID_ARGUMENT, and `visit(self, f)`, which calls f(name, field) for each field.
template <typename Options>
class OptimizerOf : public Optimizer {
 public:
  /// Adds a group of parameters with options of its own.
  void add_group(std::vector<nn::Parameter> parameters, const Options& options) {
    options.check();
    append_group(std::move(parameters));
    options_.push_back(options);
  }

 protected:
  using Optimizer::Optimizer;
  using Optimizer::OptionValues;
  virtual Update update(const Options& options, const Tensor& values, const Tensor& gradient,
                        const State& state, int64_t count) = 0;

 private:
  Update update_in(size_t group, const Tensor& values, const Tensor& gradient, const State& state,
                   int64_t count) final {
    return update(options_[group], values, gradient, state, count);
  }
  OptionValues options_of(size_t group) const final {
    OptionValues values;
    Options::visit(options_[group], [&](std::string_view name, const auto& field) {
      values.emplace_back(name, static_cast<double>(field));
    });
    return values;
  }
  Options changed(size_t group, const OptionValues& values) const {
    Options options = options_[group];
    for (const auto& [wanted, value] : values) {
      Options::visit(options, [&, &wanted = wanted, &value = value](auto name, auto& field) {
        if (name == wanted) field = static_cast<std::remove_reference_t<decltype(field)>>(value);
      });
    }
    options.check();
    return options;
  }
  void check_options(size_t group, const OptionValues& values) const final {
    changed(group, values);
  }
  void assign_options(size_t group, const OptionValues& values) final {
    options_[group] = changed(group, values);
  }

  std::vector<Options> options_;
};

/// INVALID_ARGUMENT "optimizer: what" unless lowest <= value < limit.
void check_option(std::string_view optimizer, std::string_view what, double value, double lowest,
                  double limit);
/// The same without an upper limit; infinity and NaN are refused.
void check_not_negative(std::string_view optimizer, std::string_view what, double value);

}  // namespace remora::optim
