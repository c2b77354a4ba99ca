// Optimizer: updates parameters from their gradients.
#pragma once

#include <string_view>
#include <vector>

#include "client/nn/parameter.h"
#include "client/tensor.h"

namespace remora::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update of every parameter that has a gradient. Records the update, swaps the parameters'
  /// values, lets go of the old ones, and then ends this thread's window on every device that holds
  /// a parameter: a training step is one window. If it throws, nothing has changed.
  void step();
  /// Clears every gradient.
  void zero_grad();
  /// Takes effect at the next step; never changes a plan. INVALID_ARGUMENT if negative or not a
  /// number.
  void set_learning_rate(double learning_rate);
  double learning_rate() const { return learning_rate_; }

 protected:
  /// INVALID_ARGUMENT without parameters or for a bad learning rate.
  Optimizer(std::vector<nn::Parameter> parameters, double learning_rate);

  /// What an optimizer keeps for one parameter: plain tensors.
  using State = std::vector<Tensor>;
  struct Update {
    Tensor values;
    State state;
  };
  /// The new values and state, given plain tensors. `state` is empty at a parameter's first update.
  /// `number` counts this parameter's updates from 1.
  virtual Update update(const Tensor& values, const Tensor& gradient, const State& state,
                        int64_t number) = 0;
  /// A number as a tensor on `like`'s device: a number that changes from step to step never changes
  /// a plan. Made once a step for each role and value; the role keeps numbers that happen to be
  /// equal apart, so that every step records the same ops.
  Tensor number(const Tensor& like, std::string_view role, double value);

 private:
  struct Slot {
    nn::Parameter parameter;
    State state;
    int64_t updates = 0;
  };
  /// `update`, in f32 for parameters of f16 and bf16: their state is f32, only the values round.
  Update wide_update(const Tensor& values, const Tensor& gradient, const Slot& slot);

  struct Number {
    const void* device;
    DType dtype;
    std::string_view role;
    double value;
    Tensor tensor;
  };

  std::vector<Slot> slots_;
  double learning_rate_;
  std::vector<Number> numbers_;  // of the step that is being recorded
};

/// INVALID_ARGUMENT "optimizer: what" unless lowest <= value < limit.
void check_option(const char* optimizer, const char* what, double value, double lowest,
                  double limit);

}  // namespace remora::optim
