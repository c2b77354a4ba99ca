#include "kernels/cpu/matvec.h"

#include <algorithm>
#include <cmath>

namespace remora::cpu {
namespace {

constexpr int64_t kLanes = 32;
constexpr int64_t kColumnRows = 64;  // rows that a column-major matrix advances together

/// Lanes of `width` elements each, combined into the first.
template <typename T>
void combine_lanes(T* lanes, int64_t width) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half * width; ++i) lanes[i] += lanes[half * width + i];
  }
}

template <typename T>
T row_product(const T* __restrict a, const T* __restrict x, int64_t k) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = std::fma(a[i + lane], x[i + lane], lanes[lane]);
  }
  for (int64_t lane = 0; i < k; ++i, ++lane) lanes[lane] = std::fma(a[i], x[i], lanes[lane]);
  combine_lanes(lanes, 1);
  return lanes[0];
}

/// `rows` <= kColumnRows rows of a column-major matrix.
template <typename T>
void column_products(int64_t rows, int64_t k, const T* a, int64_t column_stride, const T* x,
                     int64_t x_stride, T* out) {
  T lanes[kLanes * kColumnRows] = {};
  for (int64_t i = 0; i < k; ++i) {
    const T* __restrict column = a + i * column_stride;
    T* __restrict lane = lanes + i % kLanes * kColumnRows;
    const T factor = x[i * x_stride];
    for (int64_t row = 0; row < rows; ++row) lane[row] = std::fma(column[row], factor, lane[row]);
  }
  combine_lanes(lanes, kColumnRows);
  std::copy_n(lanes, rows, out);
}

template <typename T>
void multiply(int64_t rows, int64_t k, const Matrix<T>& a, const T* x, int64_t x_stride, T* out) {
  if (a.column_stride == 1 && x_stride == 1) {
    for (int64_t row = 0; row < rows; ++row)
      out[row] = row_product(a.data + row * a.row_stride, x, k);
    return;
  }
  if (a.row_stride == 1) {
    for (int64_t row = 0; row < rows; row += kColumnRows) {
      column_products(std::min(kColumnRows, rows - row), k, a.data + row, a.column_stride, x,
                      x_stride, out + row);
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    T lanes[kLanes] = {};
    for (int64_t i = 0; i < k; ++i) {
      T& lane = lanes[i % kLanes];
      lane = std::fma(a.data[row * a.row_stride + i * a.column_stride], x[i * x_stride], lane);
    }
    combine_lanes(lanes, 1);
    out[row] = lanes[0];
  }
}

}  // namespace

void matvec(int64_t rows, int64_t k, const Matrix<float>& a, const float* x, int64_t x_stride,
            float* out) {
  multiply(rows, k, a, x, x_stride, out);
}
void matvec(int64_t rows, int64_t k, const Matrix<double>& a, const double* x, int64_t x_stride,
            double* out) {
  multiply(rows, k, a, x, x_stride, out);
}

}  // namespace remora::cpu
