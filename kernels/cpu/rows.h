// Rows of elements changed from one form to another before or after a kernel's loop: strided to
// neighbours, 16-bit floats to f32 and back, any element type to any other. A kernel that works on
// such rows needs one loop an expression, whatever its operands' layout and storage are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dispatch/dtype.h"

namespace remora::cpu {

/// f16 or bf16 elements, `stride` apart, as f32.
void widen_row(DType from, const std::byte* source, int64_t stride, int64_t count, float* out);
/// f32 elements rounded to f16 or bf16.
void narrow_row(DType to, const float* source, int64_t count, std::byte* out);

/// Converts neighbours; `count` <= kRowElements. Float to integer truncates and saturates, NaN
/// gives 0; integers wrap; to a float rounds once; to bool is "not zero".
void convert_row(DType from, const std::byte* source, DType to, int64_t count, std::byte* out);

}  // namespace remora::cpu
