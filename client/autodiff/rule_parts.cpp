#include "client/autodiff/rule_parts.h"

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/attrs.h"

namespace remora::autodiff {

using dispatch::OpCode;

namespace {

/// A reduction's result with its reduced axes back as size 1.
Tensor with_reduced_axes(const Tensor& reduced, const Spec& input,
                         const dispatch::ReduceAttrs& attrs) {
  Shape shape = input.shape;
  for (const int64_t axis : attrs.axes) shape[axis] = 1;
  return reshape(reduced, shape);
}

Tensor zeros_of(const Tensor& like, const Spec& spec) {
  return full(spec.shape, 0, like.device().without_autodiff(), spec.dtype);
}

/// With the last two axes exchanged.
Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

}  // namespace

Tensor larger_share(const Tensor& g, const Tensor& x, const Tensor& y) {
  return where(x < y, 0.0, where(x == y, g * 0.5, g));
}

Tensor pow_by_base(const Tensor& g, const Tensor& x, const Tensor& y) {
  // The exponent 0 in place of -1 keeps the factor finite where it is multiplied by 0.
  return g * (y * pow(x, where(y == 0.0, 0.0, y - 1.0)));
}

Tensor pow_by_exponent(const Tensor& g, const Tensor& x, const Tensor& y) {
  const Tensor flat = logical_and(x == 0.0, y >= 0.0);
  const Tensor base = where(flat, 1.0, x);
  return where(flat, 0.0, g * (pow(base, y) * log(base)));
}

Tensor atan2_share(const Tensor& g, const Tensor& part, const Tensor& x, const Tensor& y) {
  const Tensor square_radius = square(x) + square(y);
  return g * where(square_radius == 0.0, 0.0, part / square_radius);
}

Tensor hypot_share(const Tensor& g, const Tensor& x, const Tensor& r) {
  return g * where(r == 0.0, 0.0, x / r);
}

Tensor fmax_share(const Tensor& g, const Tensor& x, const Tensor& y) {
  return where(isnan(y), g, where(isnan(x), 0.0, larger_share(g, x, y)));
}

Tensor fmin_share(const Tensor& g, const Tensor& x, const Tensor& y) {
  return where(isnan(y), g, where(isnan(x), 0.0, larger_share(g, y, x)));
}

Tensor xlogy_by_x(const Tensor& g, const Tensor& x, const Tensor& y) {
  return g * where(logical_and(x == 0.0, y <= 0.0), 0.0, log(y));
}

Tensor exponential_share(const Tensor& g, const Tensor& x, const Tensor& y) {
  return g * where(x == y, 0.5, sigmoid(x - y));  // infinities have no difference
}

Gradients polygamma_rule(const RuleContext& context) {
  const int64_t order = context.attrs<dispatch::OrderAttrs>().order;
  return {context.cotangent() * polygamma(order + 1, context.input(0))};
}

Gradients where_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  const Tensor condition = context.input(0);
  Gradients gradients(3);
  if (context.needs(1)) {
    gradients[1] = sum_to_size(where(condition, g, 0.0), context.input_spec(1).shape);
  }
  if (context.needs(2)) {
    gradients[2] = sum_to_size(where(condition, 0.0, g), context.input_spec(2).shape);
  }
  return gradients;
}

Gradients astype_rule(const RuleContext& context) {
  return {astype(context.cotangent(), context.input_spec(0).dtype)};
}

Gradients sum_rule(const RuleContext& context) {
  const Spec& input = context.input_spec(0);
  const Tensor g =
      with_reduced_axes(context.cotangent(), input, context.attrs<dispatch::ReduceAttrs>());
  return {broadcast_to(g, input.shape)};
}

Gradients amax_rule(const RuleContext& context) {
  const auto& attrs = context.attrs<dispatch::ReduceAttrs>();
  const Spec& input = context.input_spec(0);
  const Tensor g = with_reduced_axes(context.cotangent(), input, attrs);
  const Tensor largest = with_reduced_axes(context.output().detach(), input, attrs);
  const Tensor selected = astype(context.input(0).detach() == largest, input.dtype);
  return {selected * (g / sum(selected, attrs.axes, true))};
}

Gradients reshape_rule(const RuleContext& context) {
  return {reshape(context.cotangent(), context.input_spec(0).shape)};
}

Gradients permute_rule(const RuleContext& context) {
  const Dims& axes = context.attrs<dispatch::PermuteAttrs>().axes;
  Dims inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    inverse[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return {permute(context.cotangent(), inverse)};
}

Gradients broadcast_to_rule(const RuleContext& context) {
  return {sum_to_size(context.cotangent(), context.input_spec(0).shape)};
}

Gradients slice_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  return {apply(OpCode::slice_assign, {zeros_of(g, context.input_spec(0)), g},
                context.attrs<dispatch::SliceAttrs>())};
}

Gradients slice_assign_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  const auto& attrs = context.attrs<dispatch::SliceAttrs>();
  Gradients gradients(2);
  if (context.needs(0)) {
    gradients[0] = apply(OpCode::slice_assign, {g, zeros_of(g, context.input_spec(1))}, attrs);
  }
  if (context.needs(1)) gradients[1] = apply(OpCode::slice, {g}, attrs);
  return gradients;
}

Gradients concat_rule(const RuleContext& context) {
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  Gradients gradients(context.input_count());
  int64_t start = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const int64_t length = context.input_spec(i).shape[axis];
    if (context.needs(i)) gradients[i] = narrow(context.cotangent(), axis, start, length);
    start += length;
  }
  return gradients;
}

Gradients gather_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  return {scatter_add(zeros_of(g, context.input_spec(0)), axis, context.input(1), g), Tensor()};
}

Gradients scatter_add_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  Gradients gradients(3);
  if (context.needs(0)) gradients[0] = g;
  if (context.needs(2)) gradients[2] = gather(g, axis, context.input(1));
  return gradients;
}

Gradients matmul_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  Gradients gradients(2);
  if (context.needs(0)) gradients[0] = matmul(g, transposed(context.input(1)));
  if (context.needs(1)) gradients[1] = matmul(transposed(context.input(0)), g);
  return gradients;
}

namespace {

/// conv2d is bilinear in (input, weight); each of the three ops below differentiates into the other
/// two.
Tensor convolve(const RuleContext& context, OpCode code, const Tensor& a, const Tensor& b,
                const Shape& result) {
  dispatch::ConvAttrs attrs = context.attrs<dispatch::ConvAttrs>();
  attrs.shape = result;
  return apply(code, {a, b}, attrs);
}

}  // namespace

Gradients conv2d_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  Gradients gradients(2);
  if (context.needs(0)) {
    gradients[0] = convolve(context, OpCode::conv2d_input_grad, g, context.input(1),
                            context.input_spec(0).shape);
  }
  if (context.needs(1)) {
    gradients[1] = convolve(context, OpCode::conv2d_weight_grad, g, context.input(0),
                            context.input_spec(1).shape);
  }
  return gradients;
}

Gradients conv2d_input_grad_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  Gradients gradients(2);
  if (context.needs(0)) {
    gradients[0] = convolve(context, OpCode::conv2d, g, context.input(1), Shape{});
  }
  if (context.needs(1)) {
    gradients[1] = convolve(context, OpCode::conv2d_weight_grad, context.input(0), g,
                            context.input_spec(1).shape);
  }
  return gradients;
}

Gradients conv2d_weight_grad_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  Gradients gradients(2);
  if (context.needs(0)) {
    gradients[0] = convolve(context, OpCode::conv2d, context.input(1), g, Shape{});
  }
  if (context.needs(1)) {
    gradients[1] = convolve(context, OpCode::conv2d_input_grad, context.input(0), g,
                            context.input_spec(1).shape);
  }
  return gradients;
}

Gradients max_pool2d_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  if (!g.defined()) return Gradients(1);
  const Shape& input = context.input_spec(0).shape;
  const Shape plane = {input[0], input[1], input[2] * input[3]};
  const Shape pooled = {input[0], input[1], g.size(2) * g.size(3)};
  const Tensor index = reshape(context.output(1), pooled);
  const Tensor spread = scatter_add(zeros_of(g, {g.dtype(), plane}), 2, index, reshape(g, pooled));
  return {reshape(spread, input)};
}

Gradients fft_rule(const RuleContext& context) {
  const bool inverse = context.attrs<dispatch::FftAttrs>().inverse;
  return {apply(OpCode::fft, {context.cotangent()}, dispatch::FftAttrs{!inverse})};
}

Gradients softmax_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  const Tensor r = context.output();
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  return {r * (g - sum(g * r, axis, true))};
}

}  // namespace remora::autodiff
