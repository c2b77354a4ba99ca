// What a FAST row expands to on a device without a kernel for it: the same result from primitives.
// Each submits ops and returns the outputs.
#pragma once

#include <span>

#include "dispatch/op.h"
#include "dispatch/window.h"

namespace remora::dispatch {

using Decomposition = Values (*)(std::span<const Value> inputs, const Attrs& attrs);

Values decompose_softmax(std::span<const Value> inputs, const Attrs& attrs);
Values decompose_attention(std::span<const Value> inputs, const Attrs& attrs);
Values decompose_attention_grad(std::span<const Value> inputs, const Attrs& attrs);

/// The decomposition of a FAST row, or nullptr.
Decomposition find_decomposition(OpCode code);

}  // namespace remora::dispatch
