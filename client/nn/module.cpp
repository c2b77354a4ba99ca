#include "client/nn/module.h"

#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> all = own_;
  for (const auto& [name, module] : nested_) {
    for (NamedParameter& inner : module->named_parameters()) {
      all.push_back({str_cat(name, ".", inner.name), std::move(inner.parameter)});
    }
  }
  return all;
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all;
  for (NamedParameter& named : named_parameters()) all.push_back(std::move(named.parameter));
  return all;
}

void Module::to(const Device& device) {
  const dispatch::CallScope scope;
  for (Parameter& parameter : parameters()) parameter.to(device);
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& [name, module] : nested_) module->train(on);
}

Parameter Module::add_parameter(std::string name, Parameter parameter) {
  own_.push_back({std::move(name), parameter});
  return parameter;
}

void Module::add_module(std::string name, std::shared_ptr<Module> module) {
  nested_.emplace_back(std::move(name), std::move(module));
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor result = x;
  for (const auto& module : modules_) result = (*module)(result);
  return result;
}

void Sequential::append(std::shared_ptr<Module> module) {
  add_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

}  // namespace remora::nn
