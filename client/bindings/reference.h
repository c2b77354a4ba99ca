// The reference of operations, docs/ops.md, made of the catalogue, the gradient rules, a backend's
// kernels and functions.def, so that it cannot say anything else than they do.
#pragma once

#include <string>

#include "dispatch/backend.h"

namespace remora::bindings {

/// Markdown. `cpu` is the backend whose kernels are listed. Pure; any thread.
std::string operations_reference(const dispatch::Backend& cpu);

}  // namespace remora::bindings
