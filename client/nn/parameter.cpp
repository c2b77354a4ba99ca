#include "client/nn/parameter.h"

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"

namespace remora::nn {

Parameter::Parameter(Shape shape, Initializer initializer)
    : slot_(std::make_shared<Slot>(Slot{std::move(shape), std::move(initializer), Tensor()})) {}

void Parameter::draw(const Device& device) const {
  const NoGrad guard;
  const Tensor values = slot_->initializer(device);
  slot_->tensor = device.has_autodiff() ? values.require_grad() : values;
  slot_->initializer = nullptr;
}

Spec Parameter::spec() const {
  return slot_->tensor.defined() ? slot_->tensor.spec() : Spec{DType::kF32, slot_->shape};
}

const Tensor& Parameter::tensor() const {
  if (!slot_->tensor.defined()) draw(Device::default_device());
  return slot_->tensor;
}

void Parameter::to(const Device& device) {
  if (!slot_->tensor.defined()) return draw(device);
  const AutodiffContext context = AutodiffContext::of(device);
  const Tensor& current = slot_->tensor;
  if (current.value()->device().device() == device && current.context() == context) return;
  const Tensor moved = Tensor::from_inner(current.inner().to(device), context);
  slot_->tensor = context.enabled ? moved.require_grad() : moved;
}

void Parameter::set(const Tensor& values) {
  const Tensor& current = tensor();
  if (values.spec() != current.spec()) {
    refuse("Parameter::set", str_cat("the values are ", values.spec().str(), ", the parameter ",
                                     current.spec().str()));
  }
  slot_->tensor = Tensor(values.value(), current.context(), current.edge());
}

void Parameter::load(const Tensor& values) {
  if (slot_->tensor.defined()) return set(values.inner().to(slot_->tensor.device()));
  if (values.spec() != spec()) {
    refuse("Parameter::load",
           str_cat("the values are ", values.spec().str(), ", the parameter ", spec().str()));
  }
  slot_->tensor = values.context().enabled ? values.detach().require_grad() : values.detach();
  slot_->initializer = nullptr;
}

Parameter uniform_parameter(const Shape& shape, double bound) {
  const auto draw = [shape, bound](const Device& device) {
    return uniform(shape, device, -bound, bound);
  };
  return Parameter(shape, draw);
}

}  // namespace remora::nn
