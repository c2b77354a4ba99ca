#include "client/nn/parameter.h"

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"

namespace remora::nn {

Parameter::Parameter(Spec spec, bool trainable, Initializer initializer)
    : slot_(std::make_shared<Slot>(
          Slot{std::move(spec), trainable, std::move(initializer), Tensor()})) {}

Parameter::Parameter(Shape shape, Initializer initializer)
    : Parameter(Spec{DType::kF32, std::move(shape)}, true, std::move(initializer)) {}

Parameter Parameter::buffer(DType dtype, Shape shape, Initializer initializer) {
  return Parameter(Spec{dtype, std::move(shape)}, false, std::move(initializer));
}

void Parameter::draw(const Device& device) const {
  const NoGrad guard;
  const Tensor values = slot_->initializer(device);
  if (values.shape() != shape() || (!slot_->trainable && values.dtype() != dtype())) {
    refuse("Parameter", str_cat("the initializer made ", values.spec().str(), " for a parameter ",
                                slot_->spec.str()));
  }
  slot_->spec = values.spec();
  const bool tracked = device.has_autodiff() && slot_->trainable;
  slot_->tensor = tracked ? values.require_grad() : values;
  slot_->initializer = nullptr;
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
  slot_->tensor = context.enabled && slot_->trainable ? moved.require_grad() : moved;
}

void Parameter::set(const Tensor& values) {
  const Tensor& current = tensor();
  if (values.spec() != current.spec()) {
    refuse("Parameter::set", str_cat("the values are ", values.spec().str(), ", the parameter ",
                                     current.spec().str()));
  }
  slot_->tensor = Tensor(values.value(), current.context(), current.edge());
}

void Parameter::initialize(Initializer initializer) {
  if (!slot_->tensor.defined()) {
    slot_->initializer = std::move(initializer);
    return;
  }
  const NoGrad guard;
  set(initializer(slot_->tensor.value()->device().device()));
}

void Parameter::load(const Tensor& values) {
  if (slot_->tensor.defined()) return set(values.inner().to(slot_->tensor.device()));
  if (values.spec() != spec()) {
    refuse("Parameter::load",
           str_cat("the values are ", values.spec().str(), ", the parameter ", spec().str()));
  }
  const bool tracked = values.context().enabled && slot_->trainable;
  slot_->tensor = tracked ? values.detach().require_grad() : values.detach();
  slot_->initializer = nullptr;
}

Parameter uniform_parameter(const Shape& shape, double bound) {
  const auto draw = [shape, bound](const Device& device) {
    return uniform(shape, device, -bound, bound, DType::kF32);
  };
  return Parameter(shape, draw);
}

Parameter constant_parameter(const Shape& shape, double value) {
  return Parameter(shape,
                   [shape, value](const Device& device) { return full(shape, value, device); });
}

}  // namespace remora::nn
