#include "client/autodiff/scan_rules.h"

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/attrs.h"

namespace remora::autodiff {

namespace {

Tensor zeros_of(const Tensor& like, const Spec& spec) {
  return full(spec.shape, 0, like.device().without_autodiff(), spec.dtype);
}

/// x moved on by one along the last axis, `first` before it and the last element left out.
Tensor delayed(const Tensor& x, double first) {
  const Tensor before = full_like(narrow(x.inner(), -1, 0, 1), first);
  return concat({before, narrow(x, -1, 0, x.size(-1) - 1)}, -1);
}

/// The product of all other elements along the last axis: of those before times those behind, so
/// that zeros need no division.
Tensor product_of_others(const Tensor& x) {
  const Tensor before = cumprod(delayed(x, 1.0), -1);
  const Tensor behind = flip(cumprod(delayed(flip(x, -1), 1.0), -1), -1);
  return before * behind;
}

/// h_i = a_i h_(i-1) + x_i along the last axis, in log2(n) steps over the whole tensor.
Tensor recurrence(Tensor x, Tensor a) {
  const int64_t size = x.size(-1);
  for (int64_t reach = 1; reach < size; reach *= 2) {
    const int64_t rest = size - reach;
    const Tensor factor = narrow(a, -1, reach, rest);
    x = concat(
        {narrow(x, -1, 0, reach), narrow(x, -1, reach, rest) + factor * narrow(x, -1, 0, rest)},
        -1);
    a = concat({narrow(a, -1, 0, reach), factor * narrow(a, -1, 0, rest)}, -1);
  }
  return x;
}

}  // namespace

Gradients prod_rule(const RuleContext& context) {
  const auto& attrs = context.attrs<dispatch::ReduceAttrs>();
  const Spec& input = context.input_spec(0);
  Shape kept = input.shape;
  for (const int64_t axis : attrs.axes) kept[axis] = 1;
  const Tensor g = broadcast_to(reshape(context.cotangent(), kept), input.shape);
  if (attrs.axes.empty() || input.numel() == 0) return {g};
  // The reduced axes, last and as one.
  Dims last;
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    last.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(attrs.axes.size()));
  }
  const Tensor moved = movedim(context.input(0), attrs.axes, last);
  const Tensor others = product_of_others(flatten(moved, last[0], -1));
  return {g * movedim(reshape(others, moved.shape()), last, attrs.axes)};
}

Gradients cumsum_rule(const RuleContext& context) {
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  return {flip(cumsum(flip(context.cotangent(), axis), axis), axis)};
}

Gradients cumprod_rule(const RuleContext& context) {
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  if (context.input_spec(0).numel() == 0) return {context.cotangent()};
  const Tensor x = movedim(context.input(0), {axis}, {-1});
  const Tensor g = movedim(context.cotangent(), {axis}, {-1});
  const Tensor r = movedim(context.output(), {axis}, {-1});
  // What reaches r_i is g_i and, through r_(i+1) = x_(i+1) r_i, x_(i+1) of what reaches r_(i+1).
  const Tensor total = flip(recurrence(flip(g, -1), delayed(flip(x, -1), 0.0)), -1);
  return {movedim(total * delayed(r, 1.0), {-1}, {axis})};
}

Gradients selected_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  if (!g.defined()) return Gradients(1);
  const auto* sorting = std::get_if<dispatch::SortAttrs>(&context.any_attrs());
  const int64_t axis =
      sorting != nullptr ? sorting->axis : context.attrs<dispatch::AxisAttrs>().axis;
  return {scatter_add(zeros_of(g, context.input_spec(0)), axis, context.output(1), g)};
}

Gradients scatter_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  const int64_t axis = context.attrs<dispatch::AxisAttrs>().axis;
  const Tensor index = context.input(1);
  Gradients gradients(3);
  if (context.needs(0)) gradients[0] = scatter(g, axis, index, zeros_of(g, context.input_spec(2)));
  if (context.needs(2)) {
    // Who won: each source leaves its number, and looks whether it is still there.
    const Shape& shape = index.shape();
    const Tensor numbers =
        reshape(arange(0, shape.numel(), 1, g.device().without_autodiff(), DType::kI64), shape);
    const Tensor left = scatter(zeros_of(g, {DType::kI64, g.shape()}), axis, index, numbers);
    gradients[2] = where(gather(left, axis, index) == numbers, gather(g, axis, index), 0.0);
  }
  return gradients;
}

namespace {

/// Of a product of elements that meet: the others' product, where none of them is 0.
Gradients multiplied_rule(const RuleContext& context, int64_t axis) {
  const Tensor& g = context.cotangent();
  const Tensor x = context.input(0);
  const Tensor index = context.input(1);
  const Tensor source = context.input(2);
  const Tensor x_zero = equal(x, 0.0);
  const Tensor source_zero = equal(source, 0.0);
  const Tensor zeros =
      scatter_add(astype(x_zero, DType::kI64), axis, index, astype(source_zero, DType::kI64));
  const Tensor x_rest = where(x_zero, 1.0, x);
  const Tensor source_rest = where(source_zero, 1.0, source);
  const Tensor product = g * scatter_reduce(x_rest, axis, index, source_rest, "prod");
  // An element is multiplied with no zero if it is the only one, or if there is none.
  const auto share = [](const Tensor& zero, const Tensor& count, const Tensor& total,
                        const Tensor& rest) {
    return where(equal(count, astype(zero, DType::kI64)), total / rest, 0.0);
  };
  Gradients gradients(3);
  if (context.needs(0)) gradients[0] = share(x_zero, zeros, product, x_rest);
  if (context.needs(2)) {
    gradients[2] =
        share(source_zero, gather(zeros, axis, index), gather(product, axis, index), source_rest);
  }
  return gradients;
}

}  // namespace

Gradients scatter_reduce_rule(const RuleContext& context) {
  const auto& attrs = context.attrs<dispatch::ScatterAttrs>();
  if (attrs.reduction == 0) return multiplied_rule(context, attrs.axis);
  const Tensor& g = context.cotangent();
  const Tensor r = context.output().detach();
  const Tensor index = context.input(1);
  const DType dtype = g.dtype();
  const Tensor x_is = astype(equal(context.input(0).detach(), r), dtype);
  const Tensor source_is =
      astype(equal(context.input(2).detach(), gather(r, attrs.axis, index)), dtype);
  const Tensor count = scatter_add(x_is, attrs.axis, index, source_is);
  const Tensor share = g / where(equal(count, 0.0), 1.0, count);  // no element equals a NaN
  Gradients gradients(3);
  if (context.needs(0)) gradients[0] = x_is * share;
  if (context.needs(2)) gradients[2] = source_is * gather(share, attrs.axis, index);
  return gradients;
}

}  // namespace remora::autodiff
