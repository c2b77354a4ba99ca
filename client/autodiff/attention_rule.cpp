#include "client/autodiff/attention_rule.h"

#include "client/apply.h"
#include "client/attention_scores.h"
#include "client/ops.h"
#include "client/promotion.h"

namespace remora::autodiff {
namespace {

using dispatch::AttentionAttrs;
using dispatch::OpCode;

Tensor in_f32(const Tensor& x) { return is_half(x.dtype()) ? astype(x, DType::kF32) : x; }

/// The sum over each group of heads.
Tensor sum_over_group(const Tensor& x, int64_t group) {
  return group == 1 ? x : sum(unflatten(x, 1, {x.size(1) / group, group}), {2});
}

/// Of operations that have gradients themselves. The weights come from the sums, whose own gradient
/// is part of the forward row's.
Gradients composed_gradients(const RuleContext& context, const Tensor& g, const Tensor& delta) {
  const auto& attrs = context.attrs<AttentionAttrs>();
  const double scale = attrs.scale.as_double();
  const Tensor q = in_f32(context.input(0));
  const int64_t heads = context.input_spec(1).shape[1];
  const int64_t group = heads == 0 ? 1 : q.size(1) / heads;
  const Tensor k = repeat_interleave(in_f32(context.input(1)), group, 1);
  const Tensor v = repeat_interleave(in_f32(context.input(2)), group, 1);
  const Tensor mask = context.input_count() > 3 ? context.input(3) : Tensor();
  const Tensor scores = masked_scores(matmul(q, transpose(k)) * scale, attrs.causal, mask);
  const Tensor weights = exp(scores - unsqueeze(context.output(1), -1));
  const Tensor weight_grad = matmul(g, transpose(v));
  const Tensor score_grad = weights * (weight_grad - unsqueeze(delta, -1));
  const Tensor scaled_grad = score_grad * scale;
  const auto like = [&](const Tensor& gradient, size_t input) {
    return astype(gradient, context.input_spec(input).dtype);
  };
  Gradients gradients = {like(matmul(scaled_grad, k), 0),
                         like(sum_over_group(matmul(transpose(scaled_grad), q), group), 1),
                         like(sum_over_group(matmul(transpose(weights), g), group), 2)};
  if (context.input_count() > 3) {
    gradients.emplace_back();
    if (context.needs(3)) {
      gradients[3] = like(sum_to_size(score_grad, context.input_spec(3).shape), 3);
    }
  }
  return gradients;
}

}  // namespace

Gradients attention_rule(const RuleContext& context) {
  const Tensor output = context.output(0);
  const Tensor g =
      context.cotangent(0).defined() ? context.cotangent(0) : zeros_like(output.inner());
  // What reaches a row's sum counts against what reaches its weights.
  Tensor delta = sum(in_f32(g) * in_f32(output), -1);
  if (context.cotangent(1).defined()) delta = delta - context.cotangent(1);
  const bool of_mask = context.input_count() > 3 && context.needs(3);
  if (grad_enabled() || of_mask) return composed_gradients(context, in_f32(g), delta);
  OpInputs operands = {g, delta, context.output(1)};
  for (size_t i = 0; i < context.input_count(); ++i) operands.push_back(context.input(i));
  const OpOutputs results =
      apply_all(OpCode::attention_grad, operands, context.attrs<AttentionAttrs>());
  Gradients gradients(results.begin(), results.end());
  gradients.resize(context.input_count());
  return gradients;
}

}  // namespace remora::autodiff
