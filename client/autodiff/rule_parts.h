// The gradient rules that take more than a line; gradients.cpp says which row each belongs to. Pure
// functions of public ops.
#pragma once

#include "client/autodiff/gradients.h"

namespace remora::autodiff {

/// g where x > y (or either is NaN), half of it where they are equal, else 0.
Tensor larger_share(const Tensor& g, const Tensor& x, const Tensor& y);
/// d/dx x^y: 0 where y is 0.
Tensor pow_by_base(const Tensor& g, const Tensor& x, const Tensor& y);
/// d/dy x^y: 0 where x is 0 and y >= 0.
Tensor pow_by_exponent(const Tensor& g, const Tensor& x, const Tensor& y);

/// part / (x^2 + y^2) of g, 0 at the origin.
Tensor atan2_share(const Tensor& g, const Tensor& part, const Tensor& x, const Tensor& y);
/// x / r of g, 0 where r is 0.
Tensor hypot_share(const Tensor& g, const Tensor& x, const Tensor& r);
/// The share of x in the larger or smaller of two; all of g where y is NaN, none where only x is.
Tensor fmax_share(const Tensor& g, const Tensor& x, const Tensor& y);
Tensor fmin_share(const Tensor& g, const Tensor& x, const Tensor& y);
/// d/dx x log(y): 0 where x is 0 and y has no logarithm.
Tensor xlogy_by_x(const Tensor& g, const Tensor& x, const Tensor& y);
/// e^x / (e^x + e^y) of g.
Tensor exponential_share(const Tensor& g, const Tensor& x, const Tensor& y);

Gradients polygamma_rule(const RuleContext& context);
Gradients where_rule(const RuleContext& context);
Gradients astype_rule(const RuleContext& context);
Gradients sum_rule(const RuleContext& context);
Gradients amax_rule(const RuleContext& context);
Gradients reshape_rule(const RuleContext& context);
Gradients permute_rule(const RuleContext& context);
Gradients broadcast_to_rule(const RuleContext& context);
Gradients slice_rule(const RuleContext& context);
Gradients slice_assign_rule(const RuleContext& context);
Gradients concat_rule(const RuleContext& context);
Gradients gather_rule(const RuleContext& context);
Gradients scatter_add_rule(const RuleContext& context);
Gradients matmul_rule(const RuleContext& context);
Gradients conv2d_rule(const RuleContext& context);
Gradients conv2d_input_grad_rule(const RuleContext& context);
Gradients conv2d_weight_grad_rule(const RuleContext& context);
Gradients max_pool2d_rule(const RuleContext& context);
Gradients fft_rule(const RuleContext& context);
Gradients softmax_rule(const RuleContext& context);

}  // namespace remora::autodiff
