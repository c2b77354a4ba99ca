// What every way of computing attention or its gradients in the client shares.
#pragma once

#include "client/tensor.h"

namespace remora {

/// Scores [.., L, S] with -inf where a query may not see a key: beyond its own place if `causal`,
/// where a bool mask is false. A floating mask is added; an undefined one changes nothing.
Tensor masked_scores(const Tensor& scores, bool causal, const Tensor& mask);

}  // namespace remora
