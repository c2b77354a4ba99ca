// What running an op costs, estimated from its row of the catalogue and the shapes: for decisions
// that weigh work against memory, never for results. Pure functions; any thread may call them.
#pragma once

#include <span>

#include "dispatch/op.h"

namespace remora::dispatch {

struct OpWork {
  double bytes = 0.0;  // read and written
  double flops = 0.0;  // floating-point operations
};

/// Of one run of the op. A view counts as if it were copied.
OpWork op_work(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs);

}  // namespace remora::dispatch
