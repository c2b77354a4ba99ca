#include "client/apply.h"

#include "client/autodiff/gradients.h"
#include "client/autodiff/node.h"
#include "dispatch/automatic_moves.h"
#include "dispatch/call_name.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"

namespace remora {

void refuse(std::string_view name, std::string_view message) {
  throw Error(dispatch::in_call(absl::InvalidArgumentError(str_cat(name, ": ", message))));
}

void require_shape(std::string_view name, const Shape& shape) {
  const absl::Status status = check_shape(shape);
  if (!status.ok()) refuse(name, std::string(status.message()));
}

Shape common_shape(std::string_view name, const Shape& x, const Shape& y) {
  absl::StatusOr<Shape> shape = broadcast_shapes(x, y);
  if (!shape.ok()) refuse(name, std::string(shape.status().message()));
  return *std::move(shape);
}

int64_t normalize_axis(std::string_view name, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    refuse(name, rank == 0 ? str_cat("axis ", axis, " of a tensor without axes")
                           : str_cat("axis ", axis, " is outside [", -rank, ", ", rank - 1, "]"));
  }
  return axis < 0 ? axis + rank : axis;
}

AutodiffContext merge_contexts(std::string_view op, std::span<const Tensor> inputs) {
  AutodiffContext merged;
  for (const Tensor& input : inputs) {
    const AutodiffContext& context = input.context();
    if (!context.enabled) continue;
    if (merged.enabled && merged.strategy != context.strategy) {
      refuse(op, str_cat("gradient checkpointing strategy mismatch: operands are ", merged.str(),
                         " and ", context.str(), "; make both on devices of one strategy"));
    }
    merged = context;
  }
  return merged;
}

Tensor constant(const Tensor& like, Scalar value, DType dtype) {
  const Device& device = like.value()->device().device();
  const dispatch::Values values = dispatch::submit(
      dispatch::OpCode::full, {}, dispatch::FullAttrs{dtype, Shape{}, value}, &device);
  return Tensor(values[0]);
}

namespace {

using InputValues = absl::InlinedVector<dispatch::Value, 3>;

InputValues values_of(std::span<const Tensor> inputs) {
  InputValues values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(input.value());
  return values;
}

bool is_scattered(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    if (&input.value()->device() != &inputs[0].value()->device()) return true;
  }
  return false;
}

bool any_tracked(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    if (input.requires_grad()) return true;
  }
  return false;
}

}  // namespace

OpInputs on_one_device(std::string_view name, std::span<const Tensor> inputs) {
  OpInputs moved(inputs.begin(), inputs.end());
  dispatch::DeviceState& target = dispatch::route(values_of(inputs));
  for (Tensor& input : moved) {
    if (&input.value()->device() == &target) continue;
    dispatch::count_move(name, input.value()->device(), target);
    input = input.to(target.device());
  }
  return moved;
}

OpOutputs apply_all(dispatch::OpCode code, std::span<const Tensor> inputs, dispatch::Attrs attrs) {
  const AutodiffContext context = merge_contexts(dispatch::op_name(code), inputs);
  OpInputs moved;
  if (is_scattered(inputs)) {
    moved = on_one_device(dispatch::op_name(code), inputs);
    inputs = moved;
  }
  const InputValues values = values_of(inputs);
  const autodiff::GradientRule& rule = autodiff::gradient_rule(code);
  const bool tracked = grad_enabled() && rule.differentiable() && any_tracked(inputs);
  const dispatch::Values results = dispatch::submit(code, values, attrs);
  autodiff::Remembered remembered;
  if (autodiff::is_balanced(context)) {
    remembered = autodiff::remember(code, attrs, inputs, results);
  }
  if (tracked) {
    return autodiff::record(code, std::move(attrs), inputs, results, context, remembered);
  }
  OpOutputs outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace_back(results[i], context, autodiff::Edge(),
                         remembered.outputs.empty() ? nullptr : remembered.outputs[i]);
  }
  return outputs;
}

Tensor apply(dispatch::OpCode code, std::initializer_list<Tensor> inputs, dispatch::Attrs attrs) {
  return std::move(apply_all(code, {inputs.begin(), inputs.size()}, std::move(attrs))[0]);
}

}  // namespace remora
