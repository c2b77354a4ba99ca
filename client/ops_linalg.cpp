// Matrix products and what composes them.
#include <algorithm>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

void require_rank(std::string_view function, const Tensor& x, int64_t rank) {
  if (x.rank() == rank) return;
  refuse(function, str_cat("takes a tensor of rank ", rank, ", not ", x.shape().str()));
}

std::string shapes(const Tensor& x, const Tensor& y) {
  return str_cat(x.shape().str(), " x ", y.shape().str());
}

Shape batch_of(const Tensor& x) {
  return Shape(std::span(x.shape().sizes()).first(static_cast<size_t>(x.rank() - 2)));
}

Tensor with_batch(const Tensor& x, const Shape& batch) {
  Shape shape = batch;
  shape.sizes().push_back(x.size(-2));
  shape.sizes().push_back(x.size(-1));
  return broadcast_to(x, shape);
}

/// Of operands of at least two axes whose inner dimensions agree.
Tensor product(const Tensor& a, const Tensor& b) {
  if (a.rank() > 2 && b.rank() == 2) {  // one product of many rows
    Shape shape = a.shape();
    shape[a.rank() - 1] = b.size(1);
    const int64_t rows =
        a.size(-1) == 0 ? batch_of(a).numel() * a.size(-2) : a.numel() / a.size(-1);
    return reshape(apply(OpCode::matmul, {reshape(a, {rows, a.size(-1)}), b}), shape);
  }
  const Shape batch = common_shape("matmul", batch_of(a), batch_of(b));
  return apply(OpCode::matmul, {with_batch(a, batch), with_batch(b, batch)});
}

/// beta x + alpha product, x broadcast to the product.
Tensor combine(std::string_view function, const Tensor& x, const Tensor& product,
               const Scalar& beta, const Scalar& alpha) {
  if (!is_float(product.dtype()) && (beta.is_float() || alpha.is_float())) {
    refuse(function, "integer tensors take integer factors");
  }
  const Tensor scaled = alpha == Scalar(1) ? product : product * alpha;
  const Tensor base = broadcast_to(x, product.shape());
  if (beta.as_double() == 0.0) return scaled;  // not 0 * x: NaN in x does not count
  return (beta == Scalar(1) ? base : base * beta) + scaled;
}

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y) {
  const CallScope scope;
  if (x.rank() == 0 || y.rank() == 0) {
    refuse("matmul", str_cat("operands need at least one axis: ", shapes(x, y)));
  }
  const auto [p, q] = promote_pair("matmul", x, y, Domain::kArithmetic);
  const Tensor a = x.rank() == 1 ? unsqueeze(p, 0) : p;
  const Tensor b = y.rank() == 1 ? unsqueeze(q, 1) : q;
  if (a.size(-1) != b.size(-2)) {
    refuse("matmul", str_cat("inner dimensions differ: ", shapes(x, y)));
  }
  if (!broadcast_shapes(batch_of(a), batch_of(b)).ok()) {
    refuse("matmul", str_cat("batch axes do not broadcast: ", shapes(x, y)));
  }
  Tensor result = product(a, b);
  if (x.rank() == 1) result = squeeze(result, -2);
  if (y.rank() == 1) result = squeeze(result, -1);
  return result;
}

Tensor mm(const Tensor& x, const Tensor& y) {
  const dispatch::CallName name;
  require_rank("mm", x, 2);
  require_rank("mm", y, 2);
  return matmul(x, y);
}

Tensor bmm(const Tensor& x, const Tensor& y) {
  const dispatch::CallName name;
  require_rank("bmm", x, 3);
  require_rank("bmm", y, 3);
  if (x.size(0) != y.size(0)) refuse("bmm", str_cat("batches differ: ", shapes(x, y)));
  return matmul(x, y);
}

Tensor mv(const Tensor& x, const Tensor& y) {
  const dispatch::CallName name;
  require_rank("mv", x, 2);
  require_rank("mv", y, 1);
  return matmul(x, y);
}

Tensor dot(const Tensor& x, const Tensor& y) {
  const dispatch::CallName name;
  require_rank("dot", x, 1);
  require_rank("dot", y, 1);
  return matmul(x, y);
}

Tensor vdot(const Tensor& x, const Tensor& y) {
  const dispatch::CallName name;
  return dot(x, y);
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t axis) {
  const CallScope scope;
  const auto [a, b] = promote_pair("vecdot", x, y, Domain::kArithmetic);
  return sum(a * b, axis);
}

Tensor inner(const Tensor& x, const Tensor& y) {
  const CallScope scope;
  if (x.rank() == 0 || y.rank() == 0) return x * y;
  return tensordot(x, y, Dims{-1}, Dims{-1});
}

Tensor outer(const Tensor& x, const Tensor& y) {
  const CallScope scope;
  require_rank("outer", x, 1);
  require_rank("outer", y, 1);
  return unsqueeze(x, 1) * y;
}

Tensor kron(const Tensor& x, const Tensor& y) {
  const CallScope scope;
  const int64_t rank = std::max(x.rank(), y.rank());
  const Dims once(static_cast<size_t>(rank), 1);
  const Tensor a = tile(x, once);  // leading axes of size 1
  const Tensor b = tile(y, once);
  Shape rows, columns, merged;
  for (int64_t axis = 0; axis < rank; ++axis) {
    rows.sizes().insert(rows.sizes().end(), {a.size(axis), 1});
    columns.sizes().insert(columns.sizes().end(), {1, b.size(axis)});
    merged.sizes().push_back(a.size(axis) * b.size(axis));
  }
  return reshape(reshape(a, rows) * reshape(b, columns), merged);
}

Tensor tensordot(const Tensor& x, const Tensor& y, int64_t count) {
  const dispatch::CallName name;
  if (count < 0 || count > x.rank() || count > y.rank()) {
    refuse("tensordot", str_cat(count, " axes of ", shapes(x, y)));
  }
  Dims x_axes, y_axes;
  for (int64_t i = 0; i < count; ++i) {
    x_axes.push_back(x.rank() - count + i);
    y_axes.push_back(i);
  }
  return tensordot(x, y, x_axes, y_axes);
}

namespace {

/// x as a matrix of its free axes by its contracted ones; the free sizes are appended to `result`.
Tensor as_matrix(const Tensor& x, const Dims& contracted, bool contracted_last, Shape& result) {
  Dims named;
  for (const int64_t axis : contracted) {
    const int64_t along = normalize_axis("tensordot", axis, x.rank());
    if (std::ranges::find(named, along) != named.end()) {
      refuse("tensordot", str_cat("axis ", along, " is named twice"));
    }
    named.push_back(along);
  }
  Dims free;
  int64_t rows = 1;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(named, axis) != named.end()) continue;
    free.push_back(axis);
    rows *= x.size(axis);
    result.sizes().push_back(x.size(axis));
  }
  int64_t length = 1;
  for (const int64_t axis : named) length *= x.size(axis);
  Dims order = contracted_last ? free : named;
  const Dims& rest = contracted_last ? named : free;
  order.insert(order.end(), rest.begin(), rest.end());
  const Tensor permuted = permute(x, order);
  return reshape(permuted, contracted_last ? Shape{rows, length} : Shape{length, rows});
}

}  // namespace

Tensor tensordot(const Tensor& x, const Tensor& y, const Dims& x_axes, const Dims& y_axes) {
  const CallScope scope;
  bool fits = x_axes.size() == y_axes.size();
  for (size_t i = 0; fits && i < x_axes.size(); ++i) fits = x.size(x_axes[i]) == y.size(y_axes[i]);
  if (!fits) {
    refuse("tensordot", str_cat("axes ", Shape(x_axes).str(), " and ", Shape(y_axes).str(), " of ",
                                shapes(x, y), " differ"));
  }
  Shape result;
  const Tensor a = as_matrix(x, x_axes, true, result);
  const Tensor b = as_matrix(y, y_axes, false, result);
  return reshape(matmul(a, b), result);
}

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const CallScope scope;
  return combine("addmm", x, mm(a, b), beta, alpha);
}
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const CallScope scope;
  return combine("baddbmm", x, bmm(a, b), beta, alpha);
}
Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const CallScope scope;
  return combine("addbmm", x, sum(bmm(a, b), 0), beta, alpha);
}
Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const CallScope scope;
  return combine("addmv", x, mv(a, b), beta, alpha);
}
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const CallScope scope;
  return combine("addr", x, outer(a, b), beta, alpha);
}

Tensor trace(const Tensor& x) {
  const CallScope scope;
  require_rank("trace", x, 2);
  return sum(diagonal(x));
}

Tensor matrix_power(const Tensor& x, int64_t power) {
  const CallScope scope;
  if (x.rank() < 2 || x.size(-1) != x.size(-2)) {
    refuse("matrix_power", str_cat("takes square matrices, not ", x.shape().str()));
  }
  if (power < 0) {
    constexpr int64_t kLowest = -(int64_t{1} << 62);
    if (power < kLowest) refuse("matrix_power", str_cat("the power ", power, " is too low"));
    return matrix_power(inv(x), -power);
  }
  if (power == 0) {
    const Tensor identity = eye(x.size(-1), std::nullopt, x.device().without_autodiff(), x.dtype());
    return broadcast_to(identity, x.shape());
  }
  std::optional<Tensor> result;
  Tensor square = x;
  for (;;) {
    if ((power & 1) != 0) result = result ? matmul(*result, square) : square;
    power >>= 1;
    if (power == 0) return *result;
    square = matmul(square, square);
  }
}

Tensor multi_dot(const Tensors& matrices) {
  const CallScope scope;
  if (matrices.size() < 2) refuse("multi_dot", "takes at least two tensors");
  for (size_t i = 0; i < matrices.size(); ++i) {
    const bool end = i == 0 || i + 1 == matrices.size();
    if (!end || matrices[i].rank() != 1) require_rank("multi_dot", matrices[i], 2);
  }
  Tensor result = matrices[0];
  for (size_t i = 1; i < matrices.size(); ++i) result = matmul(result, matrices[i]);
  return result;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const CallScope scope;
  if (weight.rank() != 2) {
    refuse("linear", str_cat("the weight has shape ", weight.shape().str(), "; it needs two axes"));
  }
  if (x.rank() == 0 || x.size(-1) != weight.size(1)) {
    refuse("linear", str_cat("input ", x.shape().str(), " does not fit weight ",
                             weight.shape().str(), ": the last axis must be ", weight.size(1)));
  }
  if (!bias.defined()) return matmul(x, transpose(weight));
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return linear(f, weight, bias); });
  }
  return matmul(x, transpose(weight)) + bias;
}

Tensor normalize(const Tensor& x, double order, int64_t axis, double eps) {
  const CallScope scope;
  return x / clip(vector_norm(x, order, axis, true), eps, std::nullopt);
}

Tensor cosine_similarity(const Tensor& x, const Tensor& y, int64_t axis, double eps) {
  const CallScope scope;
  const auto [p, q] = promote_pair("cosine_similarity", x, y, Domain::kFloat);
  const Tensors both = broadcast_tensors({p, q});
  const Tensor a = both[0] / clip(vector_norm(both[0], 2.0, axis, true), eps, std::nullopt);
  const Tensor b = both[1] / clip(vector_norm(both[1], 2.0, axis, true), eps, std::nullopt);
  return sum(a * b, axis);
}

Tensor pairwise_distance(const Tensor& x, const Tensor& y, double order, double eps,
                         bool keepdims) {
  const CallScope scope;
  return vector_norm(x - y + eps, order, -1, keepdims);
}

}  // namespace remora
