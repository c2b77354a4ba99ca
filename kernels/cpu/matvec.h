// Products of a matrix and a vector. Element k of a row goes to accumulator k % 32 and these are
// combined as a tree, so that the bits depend neither on the matrix's layout nor on the thread
// count.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm.h"

namespace remora::cpu {

/// out[i] = sum over k of a[i, k] * x[k * x_stride] for `rows` rows of `a`. Any strides.
void matvec(int64_t rows, int64_t k, const Matrix<float>& a, const float* x, int64_t x_stride,
            float* out);
void matvec(int64_t rows, int64_t k, const Matrix<double>& a, const double* x, int64_t x_stride,
            double* out);

}  // namespace remora::cpu
