// Scratch memory of what runs along one axis in order. Pure functions.
#pragma once

#include <cstdint>

#include "dispatch/shape.h"

namespace remora::cpu {

/// Upper bound of the scratch bytes of a running sum, product or extreme.
int64_t scan_scratch_bytes(const Spec& input, int64_t axis);
/// Scratch bytes of sorting along `axis`.
int64_t sort_scratch_bytes(const Spec& input, int64_t axis, int threads);

}  // namespace remora::cpu
