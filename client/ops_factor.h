// Linear algebra: factorisations, solvers and what follows from them. The rules of ops.h hold;
// floats only, computed by LAPACK on the CPU; 16-bit floats are computed in f32. Matrices are the
// last two axes, the axes before them a batch that broadcasts.
//
// What has no factors (a matrix that is singular, or not positive definite) is an error of the op:
// it shows at the first read of what depends on it. What solves with given factors
// (solve_triangular, cholesky_solve, lu_solve) divides by what they hold.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// L with L L^T = x, lower triangular; or U with U^T U = x. Of a symmetric positive definite x
/// whose lower (upper) triangle is read.
Tensor cholesky(const Tensor& x, bool upper = false);
/// The solution of (L L^T) y = b, and the inverse of L L^T, from the factor.
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper = false);
Tensor cholesky_inverse(const Tensor& factor, bool upper = false);

/// y with a y = b (or y a = b unless `left`), of a triangle of a; with `unit` its diagonal counts
/// as ones.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                        bool unit = false);
/// y with a y = b (or y a = b unless `left`). With `left`, b is a vector if it has rank 1 or
/// a's shape without the last axis.
Tensor solve(const Tensor& a, const Tensor& b, bool left = true);
Tensor inv(const Tensor& x);

/// L and U in one matrix, the i64 order of rows and its parity: x[order] = L U.
std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& x);
/// P, L and U with x = P L U.
std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& x);
/// The solution of x y = b from the first two results of `lu_factor`; of y x = b unless `left`,
/// with x^T for x if `adjoint`.
Tensor lu_solve(const Tensor& factors, const Tensor& order, const Tensor& b, bool left = true,
                bool adjoint = false);

Tensor det(const Tensor& x);  ///< the gradient is exact for singular matrices too
/// Sign (-1, 0, 1) and logarithm of the magnitude of the determinant.
std::pair<Tensor, Tensor> slogdet(const Tensor& x);
Tensor logdet(const Tensor& x);  ///< NaN where the determinant is negative

/// Orthogonal Q and upper triangular R with Q R = x; Q is square with `full`. Without it the
/// gradient needs the first columns independent.
std::pair<Tensor, Tensor> qr(const Tensor& x, bool full = false);
/// Ascending eigenvalues, and eigenvectors as columns, of a symmetric x whose lower (upper)
/// triangle is read. The element of largest magnitude of each vector is positive.
std::pair<Tensor, Tensor> eigh(const Tensor& x, bool upper = false);
Tensor eigvalsh(const Tensor& x, bool upper = false);
/// U, descending singular values and V^T; U and V are square with `full`. The element of largest
/// magnitude of each column of U is positive.
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x, bool full = true);
Tensor svdvals(const Tensor& x);
/// The pseudo-inverse; singular values up to `tolerance` of the largest count as 0: by default the
/// longer side times the dtype's epsilon.
Tensor pinv(const Tensor& x, std::optional<double> tolerance = std::nullopt);
/// i64: singular values above `tolerance` of the largest.
Tensor matrix_rank(const Tensor& x, std::optional<double> tolerance = std::nullopt);

/// "fro", "nuc" (sum of singular values); or 1, inf (largest sum of magnitudes of a column, a row),
/// 2 (largest singular value) and -1, -inf, -2 (smallest).
Tensor matrix_norm(const Tensor& x, std::string_view order = "fro", const Dims& axes = {-2, -1},
                   bool keepdims = false);
Tensor matrix_norm(const Tensor& x, double order, const Dims& axes = {-2, -1},
                   bool keepdims = false);
/// sum of x^k / k!, by scaling and squaring, each matrix as often as its own norm asks for. Reads
/// the largest number of squarings of the batch.
Tensor matrix_exp(const Tensor& x);

}  // namespace remora
