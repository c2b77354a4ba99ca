#include "client/nn/module.h"

#include "client/apply.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

Tensor Module::forward(const Tensor& /*x*/) const {
  refuse("forward", "this module does not map one tensor to one; call it with what it takes");
}

std::vector<NamedParameter> Module::named(uint8_t parts) const {
  std::vector<NamedParameter> all;
  if ((parts & kParameters) != 0) all = own_;
  if ((parts & kBuffers) != 0) all.insert(all.end(), own_buffers_.begin(), own_buffers_.end());
  for (const auto& [name, module] : nested_) {
    for (NamedParameter& inner : module->named(parts)) {
      all.push_back({str_cat(name, ".", inner.name), std::move(inner.parameter)});
    }
  }
  return all;
}

std::vector<NamedParameter> Module::named_parameters() const { return named(kParameters); }
std::vector<NamedParameter> Module::named_buffers() const { return named(kBuffers); }
std::vector<NamedParameter> Module::named_state() const { return named(kParameters | kBuffers); }

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all;
  for (NamedParameter& named : named_parameters()) all.push_back(std::move(named.parameter));
  return all;
}

void Module::to(const Device& device) {
  const dispatch::CallScope scope;
  for (NamedParameter& named : named_state()) named.parameter.to(device);
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& [name, module] : nested_) module->train(on);
}

Parameter Module::add_parameter(std::string name, Parameter parameter) {
  own_.push_back({std::move(name), parameter});
  return parameter;
}

Parameter Module::add_buffer(std::string name, Parameter buffer) {
  own_buffers_.push_back({std::move(name), buffer});
  return buffer;
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

void ModuleList::append_module(std::shared_ptr<Module> module) {
  add_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

}  // namespace remora::nn
