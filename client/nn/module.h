// Module: a layer with parameters. Modules are values; copies share their parameters. Not
// thread-safe while parameters change.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/nn/parameter.h"
#include "client/tensor_map.h"

namespace remora::nn {

struct NamedParameter {
  std::string name;  // "0.weight"
  Parameter parameter;
};

/// Where a state and a module differ in names.
struct StateDifference {
  std::vector<std::string> missing;     // in the module, not in the state
  std::vector<std::string> unexpected;  // in the state, not in the module
};

class Module {
 public:
  virtual ~Module() = default;

  virtual Tensor forward(const Tensor& x) const = 0;
  Tensor operator()(const Tensor& x) const { return forward(x); }

  /// All parameters, in the order they were registered; those of nested modules in their place.
  std::vector<NamedParameter> named_parameters() const;
  std::vector<Parameter> parameters() const;
  /// Moves every parameter to `device`; those not drawn yet are drawn there, in order. On an
  /// autodiff device they are tracked.
  void to(const Device& device);
  /// What the module has learned, by name: every parameter, untracked. Draws those not drawn yet.
  TensorMap state_dict() const;
  /// Replaces the parameters by the tensors of those names, moved to where each parameter lives;
  /// one not drawn yet stays where its tensor is. INVALID_ARGUMENT lists the names that are missing
  /// and unexpected (unless `strict` is false: then they are returned) and every tensor of another
  /// shape or dtype; then nothing has changed.
  StateDifference load_state_dict(const TensorMap& state, bool strict = true);
  /// Training mode, which Dropout heeds; on at first.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  /// Makes the parameter part of this module, under a name.
  Parameter add_parameter(std::string name, Parameter parameter);
  void add_module(std::string name, std::shared_ptr<Module> module);

 private:
  std::vector<NamedParameter> own_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> nested_;
  bool training_ = true;
};

/// Modules one after another: `Sequential(Conv2d(1, 16, 3), ReLU(), Flatten())`.
class Sequential : public Module {
 public:
  template <typename... Modules>
  requires(std::derived_from<std::remove_cvref_t<Modules>, Module>&&...) explicit Sequential(
      Modules&&... modules) {
    (append(std::make_shared<std::remove_cvref_t<Modules>>(std::forward<Modules>(modules))), ...);
  }
  Tensor forward(const Tensor& x) const override;

 private:
  void append(std::shared_ptr<Module> module);
  std::vector<std::shared_ptr<Module>> modules_;
};

}  // namespace remora::nn
