// Gradients kept within bounds, between `backward` and an optimizer's step. Computed where the
// gradients are: nothing is read. No tensor changes; the parameters' leaves get other gradients.
#pragma once

#include <vector>

#include "client/nn/parameter.h"

namespace remora::nn {

/// Scales the gradients of all parameters by max_norm / (norm + 1e-6) where that is below 1, and
/// returns the norm before: that of order `order` (as `vector_norm`) over all elements, on the
/// device of the first gradient, of rank 0; 0 if no parameter has one. INVALID_ARGUMENT unless
/// max_norm is a number that is not negative.
Tensor clip_grad_norm(const std::vector<Parameter>& parameters, double max_norm,
                      double order = 2.0);

/// Clips each element of the gradients to [-limit, limit]. INVALID_ARGUMENT unless the limit is a
/// number that is not negative.
void clip_grad_value(const std::vector<Parameter>& parameters, double limit);

}  // namespace remora::nn
