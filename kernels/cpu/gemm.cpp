#include "kernels/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>

namespace remora::cpu {
namespace {

struct BlasOperand {
  CBLAS_TRANSPOSE transposed;
  blasint leading;
};

/// Row-major unless only the transpose is; a leading dimension is at least 1 and at least the row.
template <typename T>
BlasOperand blas_operand(const Matrix<T>& matrix, int64_t rows, int64_t columns) {
  if (columns == 1 || matrix.column_stride == 1) {
    return {CblasNoTrans, static_cast<blasint>(std::max({matrix.row_stride, columns, int64_t{1}}))};
  }
  return {CblasTrans, static_cast<blasint>(std::max({matrix.column_stride, rows, int64_t{1}}))};
}

/// `multiply` is cblas_sgemm or cblas_dgemm.
template <typename T, typename Multiply>
void multiply_with(Multiply multiply, int64_t m, int64_t n, int64_t k, const Matrix<T>& a,
                   const Matrix<T>& b, bool accumulate, T* c, int64_t c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (accumulate) return;
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T{0});
    return;
  }
  const BlasOperand left = blas_operand(a, m, k);
  const BlasOperand right = blas_operand(b, k, n);
  multiply(CblasRowMajor, left.transposed, right.transposed, static_cast<blasint>(m),
           static_cast<blasint>(n), static_cast<blasint>(k), T{1}, a.data, left.leading, b.data,
           right.leading, accumulate ? T{1} : T{0}, c, static_cast<blasint>(c_stride));
}

}  // namespace

void initialise_blas() {
  static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)once;
}

std::string blas_description() {
  return std::string(openblas_get_corename()) + ", " + openblas_get_config();
}

bool is_blas_layout(int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns) {
  const bool row_major =
      (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns);
  const bool column_major =
      (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return row_major || column_major;
}

void gemm(int64_t m, int64_t n, int64_t k, const Matrix<float>& a, const Matrix<float>& b,
          bool accumulate, float* c, int64_t c_stride) {
  multiply_with(cblas_sgemm, m, n, k, a, b, accumulate, c, c_stride);
}

void gemm(int64_t m, int64_t n, int64_t k, const Matrix<double>& a, const Matrix<double>& b,
          bool accumulate, double* c, int64_t c_stride) {
  multiply_with(cblas_dgemm, m, n, k, a, b, accumulate, c, c_stride);
}

}  // namespace remora::cpu
