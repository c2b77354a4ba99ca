// Scratch memory of attention. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "dispatch/op.h"

namespace remora::cpu {

/// Upper bound of the scratch bytes of `attention` and `attention_grad`.
int64_t attention_scratch_bytes(dispatch::OpCode code, std::span<const Spec> inputs, int threads);

}  // namespace remora::cpu
