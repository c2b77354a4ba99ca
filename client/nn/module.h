// Module: a layer with parameters. Modules are values; copies share their parameters, but each has
// its own training mode. Not thread-safe while parameters change.
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

  /// INVALID_ARGUMENT for a module that takes more than one tensor, or gives more: those have a
  /// `forward` of their own.
  virtual Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }

  /// All parameters, in the order they were registered; those of nested modules in their place.
  std::vector<NamedParameter> named_parameters() const;
  std::vector<Parameter> parameters() const;
  /// What is not trained but belongs to what was learned, likewise: running statistics.
  std::vector<NamedParameter> named_buffers() const;
  /// Both, in the order of PyTorch's state_dict: a module's parameters, its buffers, then the
  /// modules in it.
  std::vector<NamedParameter> named_state() const;
  /// Moves every parameter and buffer to `device`; those not drawn yet are drawn there, in order.
  /// On an autodiff device the parameters are tracked.
  void to(const Device& device);
  /// What the module has learned, by name: every parameter and buffer, untracked. Draws those not
  /// drawn yet.
  TensorMap state_dict() const;
  /// Replaces parameters and buffers by the tensors of those names, moved to where each lives;
  /// one not drawn yet stays where its tensor is. INVALID_ARGUMENT lists the names that are missing
  /// and unexpected (unless `strict` is false: then they are returned) and every tensor of another
  /// shape or dtype; then nothing has changed.
  StateDifference load_state_dict(const TensorMap& state, bool strict = true);
  /// Training mode, which Dropout and BatchNorm heed; on at first.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  /// Makes the parameter part of this module, under a name.
  Parameter add_parameter(std::string name, Parameter parameter);
  Parameter add_buffer(std::string name, Parameter buffer);
  void add_module(std::string name, std::shared_ptr<Module> module);
  /// The same for a module that this one is made with; returns where it lives.
  template <typename M>
  std::shared_ptr<M> add_module_of(const std::string& name, M module) {
    auto added = std::make_shared<M>(std::move(module));
    add_module(name, added);
    return added;
  }

 private:
  enum Part : uint8_t { kParameters = 1, kBuffers = 2 };
  std::vector<NamedParameter> named(uint8_t parts) const;

  std::vector<NamedParameter> own_;
  std::vector<NamedParameter> own_buffers_;
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

  size_t size() const { return modules_.size(); }
  Module& operator[](size_t index) const { return *modules_.at(index); }

 private:
  void append(std::shared_ptr<Module> module);
  std::vector<std::shared_ptr<Module>> modules_;
};

/// Modules in a list that a model goes through by itself, named "0", "1", ...
class ModuleList : public Module {
 public:
  ModuleList() = default;
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 &&
           (std::derived_from<std::remove_cvref_t<Modules>, Module> && ...) &&
           !(sizeof...(Modules) == 1 && (std::same_as<std::remove_cvref_t<Modules>, ModuleList> &&
                                         ...))) explicit ModuleList(Modules&&... modules) {
    (append(std::forward<Modules>(modules)), ...);
  }

  template <typename M>
  requires std::derived_from<std::remove_cvref_t<M>, Module>
  void append(M&& module) {
    append_module(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module)));
  }
  size_t size() const { return modules_.size(); }
  /// std::out_of_range beyond the end.
  Module& operator[](size_t index) const { return *modules_.at(index); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  void append_module(std::shared_ptr<Module> module);
  std::vector<std::shared_ptr<Module>> modules_;
};

}  // namespace remora::nn
