// What losses do with their elements at the end.
#pragma once

#include "client/ops_nn.h"

namespace remora {

Tensor reduce_loss(const Tensor& loss, Reduction reduction);

}  // namespace remora
