// The gradient of attention.
#pragma once

#include "client/autodiff/gradients.h"

namespace remora::autodiff {

/// By query, key and value. A floating mask has no gradient here: who wants one composes attention
/// of smaller operations.
Gradients attention_rule(const RuleContext& context);

}  // namespace remora::autodiff
