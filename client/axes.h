// Axes of reductions, resolved.
#pragma once

#include <string_view>

#include "client/apply.h"
#include "client/operand.h"

namespace remora {

/// The axes as indices in [0, rank), ascending; all of them by default. INVALID_ARGUMENT for an
/// axis out of range or named twice. A rank-0 tensor takes 0 and -1, as in PyTorch, which reduce
/// nothing.
Dims normalize_axes(std::string_view function, const Axes& axes, int64_t rank);

}  // namespace remora
