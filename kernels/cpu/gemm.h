// Matrix products through the BLAS, on one thread and on tiles fixed by shape: the BLAS changes
// bits with its thread count and with the number of rows it is given, so neither is left to chance.
#pragma once

#include <cstdint>
#include <string>

namespace remora::cpu {

/// A strided matrix operand of float or double.
template <typename T>
struct Matrix {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
};

/// Tells the BLAS, once, that its calls run on their caller's thread, and which kernels suit a
/// processor that it does not know. Before that nobody else may be inside the BLAS.
void initialise_blas();
/// Kernel family and version of the BLAS: part of the fingerprint.
std::string blas_description();

/// True if the BLAS can read the matrix in place: one stride is 1 and the other no less than the
/// axis it steps over, as `rows` x `columns` demands.
bool is_blas_layout(int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns);

/// c = a * b, or c += a * b: [m, k] x [k, n] into rows `c_stride` apart. Operands are in BLAS
/// layout; every size and stride is below 2^31. k = 0 gives zeros.
void gemm(int64_t m, int64_t n, int64_t k, const Matrix<float>& a, const Matrix<float>& b,
          bool accumulate, float* c, int64_t c_stride);
void gemm(int64_t m, int64_t n, int64_t k, const Matrix<double>& a, const Matrix<double>& b,
          bool accumulate, double* c, int64_t c_stride);

}  // namespace remora::cpu
