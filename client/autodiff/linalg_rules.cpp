#include "client/autodiff/linalg_rules.h"

#include <limits>

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/attrs.h"

namespace remora::autodiff {

using dispatch::OpCode;

namespace {

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

Tensor symmetric(const Tensor& x) { return (x + transposed(x)) * 0.5; }

/// Multiplied by a row of factors, one a column, or by a column of factors, one a row.
Tensor scale_columns(const Tensor& x, const Tensor& factors) { return x * unsqueeze(factors, -2); }
Tensor scale_rows(const Tensor& x, const Tensor& factors) { return x * unsqueeze(factors, -1); }

/// a x = b for triangular a; no promotion, the operands fit.
Tensor triangular(const Tensor& a, const Tensor& b, bool upper, bool unit = false) {
  return apply(OpCode::solve_triangular, {a, b}, dispatch::TriangleAttrs{upper, unit});
}

/// 1 / (s_j - s_i) at [i, j] off the diagonal, 0 on it.
Tensor inverse_differences(const Tensor& s) {
  const Tensor difference = unsqueeze(s, -2) - unsqueeze(s, -1);
  const Tensor diagonal = eye(s.size(-1), std::nullopt, s.device().without_autodiff(), s.dtype());
  return (1.0 - diagonal) / (difference + diagonal);
}

/// Identity matrix less q q^T, times x.
Tensor outside(const Tensor& q, const Tensor& x) { return x - matmul(q, matmul(transposed(q), x)); }

}  // namespace

Gradients cholesky_rule(const RuleContext& context) {
  const Tensor l = context.output();
  const Tensor upper = transposed(l);
  // The lower triangle with half the diagonal: what a symmetric change of x does to L^-1 dL.
  const Tensor product = matmul(upper, tril(context.cotangent()));
  const Tensor half = (tril(product) + tril(product, -1)) * 0.5;
  const Tensor left = triangular(upper, half, true);              // L^-T half
  const Tensor both = triangular(upper, transposed(left), true);  // (L^-T half L^-1)^T
  return {symmetric(both)};
}

Gradients solve_triangular_rule(const RuleContext& context) {
  const auto& attrs = context.attrs<dispatch::TriangleAttrs>();
  const Tensor by_b =
      triangular(transposed(context.input(0)), context.cotangent(), !attrs.upper, attrs.unit);
  Gradients gradients(2);
  if (context.needs(0)) {
    const Tensor full = -matmul(by_b, transposed(context.output()));
    const int64_t skipped = attrs.unit ? 1 : 0;
    gradients[0] = attrs.upper ? triu(full, skipped) : tril(full, -skipped);
  }
  if (context.needs(1)) gradients[1] = by_b;
  return gradients;
}

Gradients solve_rule(const RuleContext& context) {
  const Tensor by_b = apply(OpCode::solve, {transposed(context.input(0)), context.cotangent()});
  Gradients gradients(2);
  if (context.needs(0)) gradients[0] = -matmul(by_b, transposed(context.output()));
  if (context.needs(1)) gradients[1] = by_b;
  return gradients;
}

Gradients pinv_rule(const RuleContext& context) {
  // dP = -P dX P + P P^T dX^T (1 - X P) + (1 - P X) dX^T P^T P
  const Tensor x = context.input(0);
  const Tensor p = context.output();
  const Tensor pt = transposed(p);
  const Tensor gt = transposed(context.cotangent());
  const Tensor main = matmul(matmul(pt, context.cotangent()), pt);
  const Tensor left = matmul(matmul(gt, p), pt);   // rows that X does not reach
  const Tensor right = matmul(pt, matmul(p, gt));  // columns likewise
  return {left - matmul(x, matmul(p, left)) + (right - matmul(matmul(right, p), x)) - main};
}

Gradients det_rule(const RuleContext& context) {
  // The matrix of cofactors from singular values and their products without one each, so that a
  // singular matrix needs no inverse.
  const auto factors = svd(context.input(0), false);
  const Tensor& u = std::get<0>(factors);
  const Tensor& vh = std::get<2>(factors);
  const Tensor signs = det(u.detach()) * det(vh.detach());
  const Tensor s = std::get<1>(factors);
  Tensor others = full_like(s.inner(), 1.0);
  const int64_t size = s.size(-1);
  if (size > 1) {
    const Tensor one = full_like(narrow(s.inner(), -1, 0, 1), 1.0);
    const Tensor before = cumprod(concat({one, narrow(s, -1, 0, size - 1)}, -1), -1);
    const Tensor behind =
        flip(cumprod(concat({one, flip(narrow(s, -1, 1, size - 1), -1)}, -1), -1), -1);
    others = before * behind;
  }
  const Tensor factor = unsqueeze(unsqueeze(context.cotangent() * signs, -1), -1);
  return {factor * matmul(scale_columns(u, others), vh)};
}

Gradients lu_factor_rule(const RuleContext& context) {
  const Tensor& g = context.cotangent();
  if (!g.defined()) return Gradients(1);  // the parity does not move
  const Tensor lu = context.output(0);
  const Tensor order = context.output(1);
  const Tensor lower = transposed(lu);  // its upper triangle is L^T, its lower one U^T
  const Tensor l_part = matmul(triu(lower, 1), tril(g, -1)) + tril(g, -1);
  const Tensor u_part = matmul(triu(g), tril(lower));
  const Tensor middle = tril(l_part, -1) + triu(u_part);
  const Tensor left = triangular(lower, middle, true, true);               // L^-T middle
  const Tensor rows = transposed(triangular(lu, transposed(left), true));  // left U^-T
  const Tensor index = broadcast_to(unsqueeze(order, -1), g.shape());
  return {scatter(zeros_like(g), -2, index, rows)};
}

namespace {

/// Of Q and R of a matrix with at least as many rows as columns.
Tensor tall_qr(const Tensor& q, const Tensor& r, const Tensor& by_q, const Tensor& by_r) {
  Tensor middle = zeros_like(r);
  if (by_r.defined()) middle = middle + matmul(r, transposed(triu(by_r)));
  if (by_q.defined()) middle = middle - matmul(transposed(by_q), q);
  const Tensor mirrored = tril(middle) + transposed(tril(middle, -1));
  Tensor total = matmul(q, mirrored);
  if (by_q.defined()) total = total + by_q;
  return transposed(triangular(r, transposed(total), true));  // total R^-T
}

}  // namespace

Gradients qr_rule(const RuleContext& context) {
  const Tensor q = context.output(0);
  const Tensor r = context.output(1);
  const Tensor& by_q = context.cotangent(0);
  const Tensor& by_r = context.cotangent(1);
  const int64_t rows = q.size(-2);
  const int64_t columns = r.size(-1);
  if (rows == 0 || columns == 0) return {new_zeros(q.inner(), context.input_spec(0).shape)};
  if (rows >= columns) {
    if (q.size(-1) != columns) {
      refuse("qr",
             "a full factorisation of more rows than columns has no gradient; use full = "
             "false");
    }
    return {tall_qr(q, r, by_q, by_r)};
  }
  // x = [a | b] with a square: Q and the first columns of R factor a, the others are Q^T b.
  const Tensor first = narrow(r, -1, 0, rows);
  const Tensor others = narrow(r, -1, rows, columns - rows);
  Tensor by_first, by_others;
  Tensor total = by_q;
  if (by_r.defined()) {
    by_first = narrow(by_r, -1, 0, rows);
    by_others = narrow(by_r, -1, rows, columns - rows);
    const Tensor through = matmul(matmul(q, others), transposed(by_others));
    total = by_q.defined() ? by_q + through : through;
  }
  const Tensor by_a = tall_qr(q, first, total, by_first);
  const Tensor by_b = by_others.defined() ? matmul(q, by_others) : zeros_like(others);
  return {concat({by_a, by_b}, -1)};
}

Gradients eigh_rule(const RuleContext& context) {
  const Tensor w = context.output(0);
  const Tensor v = context.output(1);
  Tensor middle = zeros_like(v.inner());
  if (context.cotangent(0).defined()) middle = middle + diag_embed(context.cotangent(0));
  if (context.cotangent(1).defined()) {
    middle = middle + matmul(transposed(v), context.cotangent(1)) * inverse_differences(w);
  }
  return {symmetric(matmul(matmul(v, middle), transposed(v)))};
}

Gradients svd_rule(const RuleContext& context) {
  const Tensor s = context.output(1);
  const int64_t inner = s.size(-1);
  const Tensor u = narrow(context.output(0), -1, 0, inner);
  const Tensor vh = narrow(context.output(2), -2, 0, inner);
  const Tensor& by_s = context.cotangent(1);
  const auto skew = [](const Tensor& x) { return x - transposed(x); };
  Tensor middle = by_s.defined() ? diag_embed(by_s) : zeros_like(matmul(vh, transposed(vh)));
  Tensor outer;  // what lies outside the spaces that U and V span
  const Tensor ratios = inverse_differences(square(s));
  if (context.cotangent(0).defined()) {
    const Tensor by_u = narrow(context.cotangent(0), -1, 0, inner);
    middle = middle + scale_columns(skew(matmul(transposed(u), by_u)) * ratios, s);
    if (u.size(-2) > inner) {
      outer = matmul(outside(u, scale_columns(by_u, reciprocal(s))), vh);
    }
  }
  if (context.cotangent(2).defined()) {
    const Tensor by_v = transposed(narrow(context.cotangent(2), -2, 0, inner));
    const Tensor v = transposed(vh);
    middle = middle + scale_rows(skew(matmul(vh, by_v)) * ratios, s);
    if (v.size(-2) > inner) {
      const Tensor part = matmul(u, transposed(outside(v, scale_columns(by_v, reciprocal(s)))));
      outer = outer.defined() ? outer + part : part;
    }
  }
  const Tensor inside = matmul(matmul(u, middle), vh);
  return {outer.defined() ? inside + outer : inside};
}

}  // namespace remora::autodiff
