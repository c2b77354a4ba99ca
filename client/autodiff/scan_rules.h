// The gradient rules of products, running sums, sorting and scattering; gradients.cpp says which
// row each belongs to. Pure functions of public ops.
#pragma once

#include "client/autodiff/gradients.h"

namespace remora::autodiff {

Gradients prod_rule(const RuleContext& context);
Gradients cumsum_rule(const RuleContext& context);
Gradients cumprod_rule(const RuleContext& context);
/// The cotangent of the first output, added up at the indices that the second output gives along
/// the op's axis.
Gradients selected_rule(const RuleContext& context);
Gradients scatter_rule(const RuleContext& context);
Gradients scatter_reduce_rule(const RuleContext& context);

}  // namespace remora::autodiff
