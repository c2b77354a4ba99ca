// Factorisations and solvers of small to medium matrices through LAPACK, on one thread each: a
// batch is spread over the device's threads by matrix. f32 and f64.
#pragma once

#include <cstdint>
#include <span>

#include "dispatch/op.h"

namespace remora::cpu {

/// Upper bound of the scratch bytes of a linear-algebra row.
int64_t linalg_scratch_bytes(dispatch::OpCode code, std::span<const Spec> inputs,
                             const dispatch::Attrs& attrs, int threads);

}  // namespace remora::cpu
