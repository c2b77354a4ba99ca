#include "client/ops_factor.h"

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

void require_matrix(std::string_view function, const Tensor& x) {
  require_float(function, x.dtype());
  if (x.rank() < 2) refuse(function, str_cat("takes matrices, not ", x.shape().str()));
}

/// Both with a common dtype and batch.
std::pair<Tensor, Tensor> common_batch(std::string_view function, const Tensor& a,
                                       const Tensor& b) {
  require_matrix(function, a);
  require_matrix(function, b);
  const auto [x, y] = promote_pair(function, a, b, Domain::kAny);
  const auto batch_of = [](const Tensor& matrix) {
    Shape shape;
    for (int64_t axis = 0; axis + 2 < matrix.rank(); ++axis) {
      shape.sizes().push_back(matrix.size(axis));
    }
    return shape;
  };
  const absl::StatusOr<Shape> common = broadcast_shapes(batch_of(x), batch_of(y));
  if (!common.ok()) {
    refuse(function,
           str_cat("batches of ", a.shape().str(), " and ", b.shape().str(), " do not broadcast"));
  }
  const auto expanded = [&](const Tensor& matrix) {
    Shape shape = *common;
    shape.sizes().push_back(matrix.size(-2));
    shape.sizes().push_back(matrix.size(-1));
    return broadcast_to(matrix, shape);
  };
  return {expanded(x), expanded(y)};
}

/// The identity matrix like the square x, for each of its batch.
Tensor identity_like(const Tensor& x) {
  return broadcast_to(eye(x.size(-1), std::nullopt, x.device().without_autodiff(), x.dtype()),
                      x.shape());
}

double epsilon_of(DType dtype) {
  return dtype == DType::kF64 ? std::numeric_limits<double>::epsilon()
                              : static_cast<double>(std::numeric_limits<float>::epsilon());
}

double tolerance_or_default(const Tensor& x, std::optional<double> tolerance) {
  const auto longer = static_cast<double>(std::max(x.size(-2), x.size(-1)));
  return tolerance.value_or(longer * epsilon_of(x.dtype()));
}

}  // namespace

Tensor cholesky(const Tensor& x, bool upper) {
  const CallScope scope;
  require_matrix("cholesky", x);
  if (upper) return transposed(apply(OpCode::cholesky, {transposed(x)}));
  return apply(OpCode::cholesky, {x});
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  const CallScope scope;
  if (!left) {  // y a = b is a^T y^T = b^T
    require_matrix("solve_triangular", a);
    require_matrix("solve_triangular", b);
    return transposed(solve_triangular(transposed(a), transposed(b), !upper, true, unit));
  }
  const auto [matrix, sides] = common_batch("solve_triangular", a, b);
  return apply(OpCode::solve_triangular, {matrix, sides}, dispatch::TriangleAttrs{upper, unit});
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  const CallScope scope;
  require_matrix("cholesky_solve", factor);
  const Tensor lower = upper ? transposed(factor) : factor;
  const Tensor half = solve_triangular(lower, b, false);
  return solve_triangular(transposed(lower), half, true);
}

Tensor cholesky_inverse(const Tensor& factor, bool upper) {
  const CallScope scope;
  require_matrix("cholesky_inverse", factor);
  if (factor.size(-1) != factor.size(-2)) {
    refuse("cholesky_inverse", str_cat("takes square matrices, not ", factor.shape().str()));
  }
  return cholesky_solve(identity_like(factor), factor, upper);
}

Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  const CallScope scope;
  require_matrix("solve", a);
  Shape vectors = a.shape();
  vectors.sizes().pop_back();
  const bool is_vector = b.rank() == 1 || (b.rank() == a.rank() - 1 && b.shape() == vectors);
  if (is_vector && left) return squeeze(solve(a, unsqueeze(b, -1), true), -1);
  if (!left) {
    require_matrix("solve", b);
    return transposed(solve(transposed(a), transposed(b), true));
  }
  const auto [matrix, sides] = common_batch("solve", a, b);
  return apply(OpCode::solve, {matrix, sides});
}

Tensor inv(const Tensor& x) {
  const CallScope scope;
  require_matrix("inv", x);
  if (x.size(-1) != x.size(-2)) {
    refuse("inv", str_cat("takes square matrices, not ", x.shape().str()));
  }
  return apply(OpCode::solve, {x, identity_like(x)});
}

std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& x) {
  const CallScope scope;
  require_matrix("lu_factor", x);
  const OpOutputs outputs = apply_all(OpCode::lu_factor, std::span(&x, 1));
  return {outputs[0], outputs[1], outputs[2]};
}

std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& x) {
  const CallScope scope;
  const auto [factors, order, parity] = lu_factor(x);
  const Tensor identity = identity_like(x);
  // Row i of L U is row order[i] of x, so column i of P has its 1 there.
  const Tensor columns = broadcast_to(unsqueeze(order, -2), x.shape());
  const Tensor permutation = scatter(zeros_like(identity), -2, columns, ones_like(identity));
  return {permutation, tril(factors, -1) + identity, triu(factors)};
}

Tensor lu_solve(const Tensor& factors, const Tensor& order, const Tensor& b, bool left,
                bool adjoint) {
  const CallScope scope;
  if (b.rank() < 2) refuse("lu_solve", str_cat("b is ", b.shape().str(), ", not a matrix"));
  if (!left) return transpose(lu_solve(factors, order, transpose(b), true, !adjoint));
  const auto [matrix, sides] = common_batch("lu_solve", factors, b);
  Shape rows = matrix.shape();
  rows.sizes().pop_back();
  const Tensor index = broadcast_to(unsqueeze(broadcast_to(order, rows), -1), sides.shape());
  if (adjoint) {  // x^T = U^T L^T with its columns in order: the last step puts rows there
    const Tensor half = solve_triangular(transpose(matrix), sides, false);
    const Tensor permuted = solve_triangular(transpose(matrix), half, true, true, true);
    return scatter(zeros_like(permuted.inner()), -2, index, permuted);
  }
  const Tensor half = solve_triangular(matrix, gather(sides, -2, index), false, true, true);
  return solve_triangular(matrix, half, true);
}

Tensor det(const Tensor& x) {
  const CallScope scope;
  require_matrix("det", x);
  return apply(OpCode::det, {x});
}

std::pair<Tensor, Tensor> slogdet(const Tensor& x) {
  const CallScope scope;
  const auto [factors, order, parity] = lu_factor(x);
  const Tensor pivots = diagonal(factors, 0, -2, -1);
  return {parity.detach() * prod(sign(pivots.detach()), -1), sum(log(abs(pivots)), -1)};
}

Tensor logdet(const Tensor& x) {
  const CallScope scope;
  const auto [sign, magnitude] = slogdet(x);
  return where(sign < 0.0, std::numeric_limits<double>::quiet_NaN(), magnitude);
}

std::pair<Tensor, Tensor> qr(const Tensor& x, bool full) {
  const CallScope scope;
  require_matrix("qr", x);
  const OpOutputs outputs = apply_all(OpCode::qr, std::span(&x, 1), dispatch::FactorAttrs{full});
  return {outputs[0], outputs[1]};
}

std::pair<Tensor, Tensor> eigh(const Tensor& x, bool upper) {
  const CallScope scope;
  require_matrix("eigh", x);
  const Tensor source = upper ? transposed(x) : x;
  const OpOutputs outputs = apply_all(OpCode::eigh, std::span(&source, 1));
  return {outputs[0], outputs[1]};
}

Tensor eigvalsh(const Tensor& x, bool upper) {
  const dispatch::CallName name;
  return eigh(x, upper).first;
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x, bool full) {
  const CallScope scope;
  require_matrix("svd", x);
  const OpOutputs outputs = apply_all(OpCode::svd, std::span(&x, 1), dispatch::FactorAttrs{full});
  return {outputs[0], outputs[1], outputs[2]};
}

Tensor svdvals(const Tensor& x) {
  const dispatch::CallName name;
  return std::get<1>(svd(x, false));
}

Tensor pinv(const Tensor& x, std::optional<double> tolerance) {
  const CallScope scope;
  require_matrix("pinv", x);
  return apply(OpCode::pinv, {x},
               dispatch::ToleranceAttrs{Scalar(tolerance_or_default(x, tolerance))});
}

Tensor matrix_rank(const Tensor& x, std::optional<double> tolerance) {
  const CallScope scope;
  require_matrix("matrix_rank", x);
  const Tensor values = svdvals(x.detach());
  if (values.size(-1) == 0) return sum(greater(values, 0.0), -1);
  return sum(values > amax(values, -1, true) * tolerance_or_default(x, tolerance), -1);
}

namespace {

/// The two axes of a matrix norm, last.
Tensor matrices_last(const Tensor& x, const Dims& axes) {
  require_float("matrix_norm", x.dtype());
  if (axes.size() != 2) refuse("matrix_norm", str_cat("takes two axes, not ", axes.size()));
  const int64_t row = normalize_axis("matrix_norm", axes[0], x.rank());
  const int64_t column = normalize_axis("matrix_norm", axes[1], x.rank());
  if (row == column) refuse("matrix_norm", str_cat("axis ", row, " is named twice"));
  return movedim(x, {row, column}, {-2, -1});
}

/// A norm of each matrix under the axes that `keepdims` asks for.
Tensor with_axes(const Tensor& norms, const Tensor& x, const Dims& axes, bool keepdims) {
  if (!keepdims) return norms;
  Shape shape = x.shape();
  for (const int64_t axis : axes) shape[normalize_axis("matrix_norm", axis, x.rank())] = 1;
  return reshape(norms, shape);
}

}  // namespace

Tensor matrix_norm(const Tensor& x, std::string_view order, const Dims& axes, bool keepdims) {
  const CallScope scope;
  const Tensor matrices = matrices_last(x, axes);
  if (order == "fro") return with_axes(vector_norm(matrices, 2.0, {-2, -1}), x, axes, keepdims);
  if (order != "nuc") refuse("matrix_norm", str_cat("order \"", order, "\" is not fro or nuc"));
  return with_axes(sum(svdvals(matrices), -1), x, axes, keepdims);
}

Tensor matrix_norm(const Tensor& x, double order, const Dims& axes, bool keepdims) {
  const CallScope scope;
  const double magnitude = std::abs(order);
  const bool of_sums = magnitude == 1.0 || std::isinf(magnitude);
  if (!of_sums && magnitude != 2.0) {
    refuse("matrix_norm", str_cat("order ", order, " is not 1, 2, inf or one of their negatives"));
  }
  const Tensor matrices = matrices_last(x, axes);
  const Tensor values =
      of_sums ? sum(abs(matrices), magnitude == 1.0 ? -2 : -1) : svdvals(matrices);
  return with_axes(order > 0 ? amax(values, -1) : amin(values, -1), x, axes, keepdims);
}

namespace {

/// f64 [.., 1, 1]: by which power of 2 each matrix is divided for a norm of at most 1/2.
Tensor exponent_of_scale(const Tensor& x) {
  const CallScope scope;
  constexpr double kHeadroom = 64.0;  // the sum of magnitudes that are nearly too large has room
  const Tensor magnitudes = abs(astype(x, DType::kF64)) * std::exp2(-kHeadroom);
  const Tensor norm = amax(sum(magnitudes, -2, true), -1, true);
  // A matrix that is 0 or not finite is left as it is.
  const Tensor scalable = logical_and(norm > 0.0, isfinite(norm));
  const Tensor exponent = ceil(log2(where(scalable, norm, 1.0))) + (kHeadroom + 1.0);
  return where(scalable, maximum(exponent, 0.0), 0.0);
}

}  // namespace

Tensor matrix_exp(const Tensor& x) {
  const dispatch::CallName name;
  require_matrix("matrix_exp", x);
  if (x.size(-1) != x.size(-2)) {
    refuse("matrix_exp", str_cat("takes square matrices, not ", x.shape().str()));
  }
  if (x.numel() == 0) return x;
  if (is_half(x.dtype())) return through_f32(x, [](const Tensor& f) { return matrix_exp(f); });
  const Tensor exponent = exponent_of_scale(x.detach());
  const auto squarings = static_cast<int64_t>(amax(exponent).item<double>());
  const CallScope scope;
  const Tensor scaled = astype(astype(x, DType::kF64) * exp2(-exponent), x.dtype());
  // Below a norm of 1/2 the rest of the series is under the dtype's rounding.
  const int terms = x.dtype() == DType::kF64 ? 15 : 9;
  const Tensor identity = identity_like(x);
  Tensor result = identity;
  for (int k = terms; k > 0; --k) result = identity + matmul(scaled, result) * (1.0 / k);
  for (int64_t i = 0; i < squarings; ++i) {
    const Tensor squared = matmul(result, result);
    result = exponent.numel() == 1 ? squared : where(exponent > i, squared, result);
  }
  return result;
}

}  // namespace remora
