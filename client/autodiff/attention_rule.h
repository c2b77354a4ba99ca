// The gradient of attention.
#pragma once

#include "client/autodiff/gradients.h"

namespace remora::autodiff {

/// By query, key, value and a floating mask. Where the mask's is wanted, or a graph of gradients,
/// the whole matrix of weights is in memory; else no more than a block of it.
Gradients attention_rule(const RuleContext& context);

}  // namespace remora::autodiff
