// Scratch memory of discrete Fourier transforms. Pure functions.
#pragma once

#include <cstdint>

#include "dispatch/shape.h"

namespace remora::cpu {

/// Upper bound of the scratch bytes of `fft` of an input [.., n, 2], tables included.
int64_t fft_scratch_bytes(const Spec& input, int threads);

}  // namespace remora::cpu
