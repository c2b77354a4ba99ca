#include "kernels/cpu/lapack.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/lapack_calls.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

using dispatch::OpCode;

/// Rows, columns and right-hand sides of one matrix of the batch, and what its kernel needs.
struct MatrixShape {
  int64_t rows = 0, columns = 0, sides = 0;
  bool full = false;
  int64_t inner() const { return std::min(rows, columns); }
};

MatrixShape matrix_shape(std::span<const int64_t> first, std::span<const int64_t> last, bool full) {
  const size_t rank = first.size();
  return {first[rank - 2], first[rank - 1], last[last.size() - 1], full};
}

int64_t matrix_count(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (size_t axis = 0; axis + 2 < sizes.size(); ++axis) count *= sizes[axis];
  return count;
}

int64_t square_of(int64_t n) { return n * n; }

/// Elements of scratch for one matrix: copies, factors and LAPACK's workspace.
int64_t used_elements(OpCode code, const MatrixShape& m) {
  const int64_t largest = std::max<int64_t>({1, m.rows, m.columns});
  switch (code) {
    case OpCode::solve:
      return m.rows * m.columns + m.rows * m.sides + largest;
    case OpCode::qr:
      return m.rows * largest + m.inner() + kLapackBlock * largest;
    case OpCode::eigh:
      return square_of(m.rows) + m.rows + (kLapackBlock + 2) * largest;
    case OpCode::svd:
    case OpCode::pinv:
      return m.rows * m.columns + m.inner() + square_of(m.rows) + square_of(m.columns) +
             svd_workspace(m.rows, m.columns) + 8 * m.inner();
    default:
      return m.rows * m.columns + largest;
  }
}

/// The same in whole cache lines: LAPACK's bits may depend on alignment, and every thread's memory
/// has to be aligned alike.
int64_t scratch_elements(OpCode code, const MatrixShape& m) {
  return (used_elements(code, m) + 15) / 16 * 16;
}

/// Memory handed out piece by piece.
template <typename T>
class Arena {
 public:
  explicit Arena(T* next) : next_(next) {}
  T* take(int64_t count) { return std::exchange(next_, next_ + count); }
  T* rest() const { return next_; }

 private:
  T* next_;
};

/// One matrix of an operand.
template <typename T>
struct Source {
  const T* data;
  int64_t row_stride, column_stride;
  T at(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
};

/// LAPACK's matrices are column-major, ours row-major.
template <typename T>
void load_columns(const Source<T>& source, int64_t rows, int64_t columns, T* out) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) out[j * rows + i] = source.at(i, j);
  }
}
template <typename T>
void store_rows(const T* columns_major, int64_t leading, int64_t rows, int64_t columns, T* out) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out[i * columns + j] = columns_major[j * leading + i];
  }
}

/// Iterations over what is not finite need not end.
template <typename T>
bool all_finite(const T* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return false;
  }
  return true;
}
constexpr int kNotConverged = 1;

/// Flips the sign of pairs of vectors so that the first one's element of largest magnitude, the
/// lowest among equals, is positive: that makes them unique. Vector i starts at i * step.
template <typename T>
void fix_signs(T* vectors, int64_t step, int64_t stride, int64_t length, int64_t count,
               T* partners = nullptr, int64_t partner_step = 0, int64_t partner_stride = 0,
               int64_t partner_length = 0) {
  for (int64_t v = 0; v < count; ++v) {
    T* x = vectors + v * step;
    int64_t best = 0;
    for (int64_t i = 1; i < length; ++i) {
      if (std::fabs(x[i * stride]) > std::fabs(x[best * stride])) best = i;
    }
    if (length == 0 || !(x[best * stride] < T(0))) continue;
    for (int64_t i = 0; i < length; ++i) x[i * stride] = -x[i * stride];
    for (int64_t i = 0; i < partner_length; ++i) {
      T& partner = partners[v * partner_step + i * partner_stride];
      partner = -partner;
    }
  }
}

/// What one matrix's kernel is given. Outputs are row-major.
template <typename T>
struct MatrixCall {
  MatrixShape shape;
  const dispatch::Attrs& attrs;
  Source<T> first, second;
  T* out[3];
  int64_t* order;  // of lu_factor
  Arena<T> scratch;
};

/// Each gives LAPACK's info: 0, or where the matrix failed.
template <typename T>
int cholesky_one(MatrixCall<T>& call) {
  const int64_t n = call.shape.rows;
  T* a = call.scratch.take(n * n);
  load_columns(call.first, n, n, a);
  const int info = lapack_potrf(n, a);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) call.out[0][i * n + j] = j <= i ? a[j * n + i] : T(0);
  }
  return info;
}

template <typename T>
int solve_triangular_one(MatrixCall<T>& call) {
  const auto& attrs = std::get<dispatch::TriangleAttrs>(call.attrs);
  const int64_t n = call.shape.rows;
  const int64_t sides = call.shape.sides;
  T* a = call.scratch.take(n * n);
  load_columns(call.first, n, n, a);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < sides; ++j) call.out[0][i * sides + j] = call.second.at(i, j);
  }
  blas_trsm(attrs.upper, attrs.unit, n, sides, a, call.out[0]);
  return 0;
}

/// Factors in place; the order of rows and its parity, 1 or -1, follow from the exchanges.
template <typename T>
int factor_lu(int64_t n, T* a, int* pivots, int64_t* order, T& parity) {
  const int info = lapack_getrf(n, a, pivots);
  parity = T(1);
  for (int64_t i = 0; order != nullptr && i < n; ++i) order[i] = i;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t other = pivots[i] - 1;
    if (other == i) continue;
    parity = -parity;
    if (order != nullptr) std::swap(order[i], order[other]);
  }
  return info;
}

template <typename T>
int lu_factor_one(MatrixCall<T>& call) {
  const int64_t n = call.shape.rows;
  T* a = call.scratch.take(n * n);
  load_columns(call.first, n, n, a);
  factor_lu(n, a, reinterpret_cast<int*>(call.scratch.rest()), call.order, *call.out[2]);
  store_rows(a, n, n, n, call.out[0]);
  return 0;  // a singular matrix has its factors
}

template <typename T>
int solve_one(MatrixCall<T>& call) {
  const int64_t n = call.shape.rows;
  const int64_t sides = call.shape.sides;
  T* a = call.scratch.take(n * n);
  T* b = call.scratch.take(n * sides);
  load_columns(call.first, n, n, a);
  load_columns(call.second, n, sides, b);
  auto* pivots = reinterpret_cast<int*>(call.scratch.rest());
  const int info = lapack_getrf(n, a, pivots);
  if (info == 0) lapack_getrs(n, sides, a, pivots, b);
  store_rows(b, n, n, sides, call.out[0]);
  return info;
}

template <typename T>
int det_one(MatrixCall<T>& call) {
  const int64_t n = call.shape.rows;
  T* a = call.scratch.take(n * n);
  load_columns(call.first, n, n, a);
  T parity;
  factor_lu(n, a, reinterpret_cast<int*>(call.scratch.rest()), nullptr, parity);
  auto product = static_cast<double>(parity);
  for (int64_t i = 0; i < n; ++i) product *= static_cast<double>(a[i * n + i]);
  call.out[0][0] = static_cast<T>(product);
  return 0;
}

template <typename T>
int qr_one(MatrixCall<T>& call) {
  const int64_t m = call.shape.rows;
  const int64_t n = call.shape.columns;
  const int64_t k = call.shape.inner();
  const int64_t width = call.shape.full ? m : k;
  T* a = call.scratch.take(m * std::max<int64_t>({1, m, n}));
  T* tau = call.scratch.take(k);
  load_columns(call.first, m, n, a);
  lapack_geqrf(m, n, a, tau, call.scratch.rest());
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t j = 0; j < n; ++j) call.out[1][i * n + j] = i <= j && i < k ? a[j * m + i] : T(0);
  }
  lapack_orgqr(m, width, k, a, tau, call.scratch.rest());
  store_rows(a, m, m, width, call.out[0]);
  return 0;
}

template <typename T>
int eigh_one(MatrixCall<T>& call) {
  const int64_t n = call.shape.rows;
  T* a = call.scratch.take(n * n);
  load_columns(call.first, n, n, a);
  for (int64_t j = 0; j < n; ++j) {  // the lower triangle, which alone is read
    if (!all_finite(a + j * n + j, n - j)) return kNotConverged;
  }
  const int info = lapack_syev(n, a, call.out[0], call.scratch.rest());
  store_rows(a, n, n, n, call.out[1]);
  fix_signs(call.out[1], 1, n, n, n);
  return info;
}

template <typename T>
int svd_one(MatrixCall<T>& call) {
  const int64_t m = call.shape.rows;
  const int64_t n = call.shape.columns;
  const int64_t k = call.shape.inner();
  const int64_t u_columns = call.shape.full ? m : k;
  const int64_t v_rows = call.shape.full ? n : k;
  T* a = call.scratch.take(m * n);
  T* u = call.scratch.take(m * m);
  T* vt = call.scratch.take(n * n);
  auto* integers = reinterpret_cast<int*>(call.scratch.take(8 * k));
  load_columns(call.first, m, n, a);
  if (!all_finite(a, m * n)) return kNotConverged;
  int info = 0;
  if (k > 0) {
    info = lapack_gesdd(call.shape.full, m, n, a, call.out[1], u, vt, v_rows, call.scratch.rest(),
                        integers);
  } else {
    for (int64_t i = 0; i < m * u_columns; ++i) u[i] = i % (m + 1) == 0 ? T(1) : T(0);
    for (int64_t i = 0; i < v_rows * n; ++i) vt[i] = i % (n + 1) == 0 ? T(1) : T(0);
  }
  store_rows(u, m, m, u_columns, call.out[0]);
  store_rows(vt, v_rows, v_rows, n, call.out[2]);
  fix_signs(call.out[0], 1, u_columns, m, k, call.out[2], n, 1, n);
  if (call.shape.full) {
    fix_signs(call.out[0] + k, 1, u_columns, m, u_columns - k);
    fix_signs(call.out[2] + k * n, n, 1, n, v_rows - k);
  }
  return info;
}

template <typename T>
int pinv_one(MatrixCall<T>& call) {
  const int64_t m = call.shape.rows;
  const int64_t n = call.shape.columns;
  const int64_t k = call.shape.inner();
  T* a = call.scratch.take(m * n);
  T* u = call.scratch.take(m * m);
  T* vt = call.scratch.take(n * n);
  T* s = call.scratch.take(k);
  auto* integers = reinterpret_cast<int*>(call.scratch.take(8 * k));
  load_columns(call.first, m, n, a);
  if (!all_finite(a, m * n)) return kNotConverged;
  const int info =
      k == 0 ? 0 : lapack_gesdd(false, m, n, a, s, u, vt, k, call.scratch.rest(), integers);
  const double relative = std::get<dispatch::ToleranceAttrs>(call.attrs).relative.as_double();
  const auto smallest = static_cast<T>(k == 0 ? 0.0 : relative * static_cast<double>(s[0]));
  for (int64_t i = 0; i < k; ++i) {
    const T factor = s[i] > smallest ? T(1) / s[i] : T(0);
    for (int64_t j = 0; j < n; ++j) vt[j * k + i] *= factor;
  }
  // Row-major [n, m] is column-major [m, n]: U times the scaled V^T.
  blas_product(m, n, k, u, vt, call.out[0]);
  return info;
}

/// The error of a matrix that LAPACK gave up on.
absl::Status matrix_error(OpCode code, int64_t matrix, int64_t info) {
  const std::string which = str_cat(dispatch::op_name(code), ": matrix ", matrix, " of the batch ");
  switch (code) {
    case OpCode::cholesky:
      return absl::InvalidArgumentError(
          str_cat(which, "is not positive definite: its leading minor of order ", info, " is not"));
    case OpCode::solve:
      return absl::InvalidArgumentError(str_cat(which, "is singular: pivot ", info, " is 0"));
    default:
      return absl::InvalidArgumentError(
          str_cat(which, "holds elements that are not finite, or did not converge"));
  }
}

/// The matrices of a batch by their linear position.
template <typename T>
Source<T> matrix_at(const TensorView& view, int64_t position) {
  const size_t batch = view.sizes.size() - 2;
  int64_t offset = 0;
  for (size_t axis = batch; axis-- > 0;) {
    offset += position % view.sizes[axis] * view.strides[axis];
    position /= view.sizes[axis];
  }
  return {view.as<const T>() + offset, view.strides[batch], view.strides[batch + 1]};
}

template <typename T, int (*kOne)(MatrixCall<T>&)>
absl::Status run_typed(OpCode code, const KernelCall& call) {
  const auto* factor = std::get_if<dispatch::FactorAttrs>(&call.attrs);
  const TensorView& first = call.in(0);
  const TensorView& last = call.inputs.back();
  const MatrixShape shape =
      matrix_shape(first.sizes, last.sizes, factor != nullptr && factor->full);
  const int64_t count = matrix_count(first.sizes);
  if (count == 0) return absl::OkStatus();
  const int64_t elements = scratch_elements(code, shape);
  const int64_t slots = count == 1 ? 1 : call.threads.threads();
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(elements * static_cast<int64_t>(sizeof(T)) * slots));
  // The first matrix that failed, whatever thread met it, and its info below 2^16.
  constexpr int64_t kInfos = int64_t{1} << 16;
  std::atomic<int64_t> failed{count * kInfos};
  const auto side = static_cast<double>(std::max(shape.rows, shape.columns));
  const double cost = static_cast<double>(count) * (500.0 + side * side * side);
  call.parallel_for(count, cost, [&](int64_t matrix, int slot) {
    // Some of the BLAS multiplies memory by 0 to clear it, and what happens to lie there may be
    // NaN.
    std::fill_n(scratch.as<T>() + slot * elements, elements, T(0));
    for (const TensorView& out : call.outputs) {
      const int64_t bytes = out.numel() / count * dtype_size(out.dtype);
      std::memset(out.data + matrix * bytes, 0, static_cast<size_t>(bytes));
    }
    MatrixCall<T> one{shape,
                      call.attrs,
                      matrix_at<T>(first, matrix),
                      matrix_at<T>(last, matrix),
                      {},
                      nullptr,
                      Arena<T>(scratch.as<T>() + slot * elements)};
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      const int64_t size = call.out(i).numel() / count;
      if (call.out(i).dtype == DType::kI64 && i == 1) {
        one.order = call.out(i).template as<int64_t>() + matrix * size;
      } else {
        one.out[i] = call.out(i).template as<T>() + matrix * size;
      }
    }
    const int info = kOne(one);
    if (info == 0) return;
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (one.out[i] != nullptr) std::fill_n(one.out[i], call.out(i).numel() / count, T(0));
    }
    const int64_t mine = matrix * kInfos + std::clamp<int64_t>(info, 0, kInfos - 1);
    for (int64_t seen = failed.load(); mine < seen;) failed.compare_exchange_weak(seen, mine);
  });
  if (failed.load() == count * kInfos) return absl::OkStatus();
  return matrix_error(code, failed.load() / kInfos, failed.load() % kInfos);
}

#define REMORA_MATRIX_KERNEL(name)                                       \
  absl::Status name(const KernelCall& call) {                            \
    if (call.in(0).dtype == DType::kF64) {                               \
      return run_typed<double, &name##_one<double>>(OpCode::name, call); \
    }                                                                    \
    return run_typed<float, &name##_one<float>>(OpCode::name, call);     \
  }

}  // namespace

int64_t linalg_scratch_bytes(OpCode code, std::span<const Spec> inputs,
                             const dispatch::Attrs& attrs, int threads) {
  const auto* factor = std::get_if<dispatch::FactorAttrs>(&attrs);
  const MatrixShape shape = matrix_shape(inputs[0].shape.sizes(), inputs.back().shape.sizes(),
                                         factor != nullptr && factor->full);
  const int64_t slots = matrix_count(inputs[0].shape.sizes()) == 1 ? 1 : threads;
  return scratch_elements(code, shape) * dtype_size(inputs[0].dtype) * slots;
}

namespace kernels {

REMORA_MATRIX_KERNEL(cholesky)
REMORA_MATRIX_KERNEL(solve_triangular)
REMORA_MATRIX_KERNEL(lu_factor)
REMORA_MATRIX_KERNEL(qr)
REMORA_MATRIX_KERNEL(eigh)
REMORA_MATRIX_KERNEL(svd)
REMORA_MATRIX_KERNEL(pinv)
REMORA_MATRIX_KERNEL(solve)
REMORA_MATRIX_KERNEL(det)

}  // namespace kernels
}  // namespace remora::cpu
