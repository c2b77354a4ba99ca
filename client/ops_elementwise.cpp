// Elementwise functions of one input.
#include <cmath>
#include <limits>
#include <numbers>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

Tensor unary(OpCode code, const Tensor& x, Domain domain) {
  const CallScope scope(dispatch::op_name(code));
  return apply(code, {promote_one(x, domain)});
}

}  // namespace

// Float functions and arithmetic that are rows of the catalogue.
Tensor sqrt(const Tensor& x) { return unary(OpCode::sqrt, x, Domain::kFloat); }
Tensor rsqrt(const Tensor& x) { return unary(OpCode::rsqrt, x, Domain::kFloat); }
Tensor reciprocal(const Tensor& x) { return unary(OpCode::reciprocal, x, Domain::kFloat); }
Tensor exp(const Tensor& x) { return unary(OpCode::exp, x, Domain::kFloat); }
Tensor cbrt(const Tensor& x) { return unary(OpCode::cbrt, x, Domain::kFloat); }
Tensor expm1(const Tensor& x) { return unary(OpCode::expm1, x, Domain::kFloat); }
Tensor log(const Tensor& x) { return unary(OpCode::log, x, Domain::kFloat); }
Tensor log1p(const Tensor& x) { return unary(OpCode::log1p, x, Domain::kFloat); }
Tensor sin(const Tensor& x) { return unary(OpCode::sin, x, Domain::kFloat); }
Tensor cos(const Tensor& x) { return unary(OpCode::cos, x, Domain::kFloat); }
Tensor tanh(const Tensor& x) { return unary(OpCode::tanh, x, Domain::kFloat); }
Tensor erf(const Tensor& x) { return unary(OpCode::erf, x, Domain::kFloat); }
Tensor sigmoid(const Tensor& x) { return unary(OpCode::sigmoid, x, Domain::kFloat); }
Tensor exp2(const Tensor& x) { return unary(OpCode::exp2, x, Domain::kFloat); }
Tensor log2(const Tensor& x) { return unary(OpCode::log2, x, Domain::kFloat); }
Tensor log10(const Tensor& x) { return unary(OpCode::log10, x, Domain::kFloat); }
Tensor tan(const Tensor& x) { return unary(OpCode::tan, x, Domain::kFloat); }
Tensor asin(const Tensor& x) { return unary(OpCode::asin, x, Domain::kFloat); }
Tensor acos(const Tensor& x) { return unary(OpCode::acos, x, Domain::kFloat); }
Tensor atan(const Tensor& x) { return unary(OpCode::atan, x, Domain::kFloat); }
Tensor sinh(const Tensor& x) { return unary(OpCode::sinh, x, Domain::kFloat); }
Tensor cosh(const Tensor& x) { return unary(OpCode::cosh, x, Domain::kFloat); }
Tensor asinh(const Tensor& x) { return unary(OpCode::asinh, x, Domain::kFloat); }
Tensor acosh(const Tensor& x) { return unary(OpCode::acosh, x, Domain::kFloat); }
Tensor atanh(const Tensor& x) { return unary(OpCode::atanh, x, Domain::kFloat); }
Tensor erfc(const Tensor& x) { return unary(OpCode::erfc, x, Domain::kFloat); }
Tensor erfinv(const Tensor& x) { return unary(OpCode::erfinv, x, Domain::kFloat); }
Tensor lgamma(const Tensor& x) { return unary(OpCode::lgamma, x, Domain::kFloat); }
Tensor digamma(const Tensor& x) { return unary(OpCode::digamma, x, Domain::kFloat); }
Tensor polygamma(int64_t order, const Tensor& x) {
  const CallScope scope;
  return apply(OpCode::polygamma, {promote_one(x, Domain::kFloat)}, dispatch::OrderAttrs{order});
}
Tensor abs(const Tensor& x) { return unary(OpCode::abs, x, Domain::kArithmetic); }
Tensor neg(const Tensor& x) { return unary(OpCode::neg, x, Domain::kArithmetic); }
Tensor square(const Tensor& x) { return unary(OpCode::square, x, Domain::kArithmetic); }
Tensor relu(const Tensor& x) { return unary(OpCode::relu, x, Domain::kArithmetic); }

Tensor sign(const Tensor& x) { return x.dtype() == DType::kBool ? x : apply(OpCode::sign, {x}); }

Tensor positive(const Tensor& x) { return promote_one(x, Domain::kArithmetic); }

Tensor astype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return apply(OpCode::astype, {x}, dispatch::DTypeAttrs{dtype});
}

Tensor logical_not(const Tensor& x) {
  const CallScope scope;
  return x.dtype() == DType::kBool ? apply(OpCode::logical_not, {x}) : equal(x, 0);
}

Tensor bitwise_not(const Tensor& x) {
  if (is_float(x.dtype())) {
    refuse("bitwise_not", str_cat("takes integers and booleans, not ", dtype_name(x.dtype())));
  }
  return x.dtype() == DType::kBool ? logical_not(x) : apply(OpCode::bitwise_not, {x});
}

// -- composed

Tensor logit(const Tensor& x, std::optional<double> eps) {
  const CallScope scope;
  const Tensor f = promote_one(x, Domain::kFloat);
  const Tensor p = eps ? clip(f, *eps, 1.0 - *eps) : f;
  return log(p / (1.0 - p));
}

Tensor deg2rad(const Tensor& x) {
  const CallScope scope;
  return promote_one(x, Domain::kFloat) * (std::numbers::pi / 180.0);
}
Tensor rad2deg(const Tensor& x) {
  const CallScope scope;
  return promote_one(x, Domain::kFloat) * (180.0 / std::numbers::pi);
}

Tensor sinc(const Tensor& x) {
  const CallScope scope;
  const Tensor y = promote_one(x, Domain::kFloat) * std::numbers::pi;
  const Tensor zero = equal(y, 0.0);
  const Tensor safe = where(zero, 1.0, y);
  return where(zero, 1.0, sin(safe) / safe);
}

// -- rounding

namespace {

/// Integers are their own rounding; booleans have none.
bool is_rounded_already(std::string_view function, const Tensor& x) {
  if (x.dtype() == DType::kBool) refuse(function, "takes numbers, not bool");
  return is_integer(x.dtype());
}

}  // namespace

Tensor floor(const Tensor& x) {
  return is_rounded_already("floor", x) ? x : apply(OpCode::floor, {x});
}
Tensor ceil(const Tensor& x) {
  return is_rounded_already("ceil", x) ? x : apply(OpCode::ceil, {x});
}
Tensor trunc(const Tensor& x) {
  return is_rounded_already("trunc", x) ? x : apply(OpCode::trunc, {x});
}
Tensor round(const Tensor& x) {
  return is_rounded_already("round", x) ? x : apply(OpCode::round, {x});
}
Tensor round(const Tensor& x, int64_t decimals) {
  if (decimals == 0 || is_rounded_already("round", x)) return round(x);
  const CallScope scope;
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return decimals > 0 ? round(x * scale) / scale : round(x / scale) * scale;
}
Tensor frac(const Tensor& x) {
  require_float("frac", x.dtype());
  const CallScope scope;
  return x - trunc(x);
}

// -- classification

Tensor isnan(const Tensor& x) {
  const dispatch::CallName name;
  return not_equal(x, x);
}

Tensor isinf(const Tensor& x) {
  const CallScope scope;
  if (!is_float(x.dtype())) return full_like(x, false, DType::kBool);
  return equal(abs(x), std::numeric_limits<double>::infinity());
}
Tensor isfinite(const Tensor& x) {
  const CallScope scope;
  if (!is_float(x.dtype())) return full_like(x, true, DType::kBool);
  return less(abs(x), std::numeric_limits<double>::infinity());
}
Tensor isposinf(const Tensor& x) {
  const CallScope scope;
  if (!is_float(x.dtype())) return full_like(x, false, DType::kBool);
  return equal(x, std::numeric_limits<double>::infinity());
}
Tensor isneginf(const Tensor& x) {
  const CallScope scope;
  if (!is_float(x.dtype())) return full_like(x, false, DType::kBool);
  return equal(x, -std::numeric_limits<double>::infinity());
}
Tensor signbit(const Tensor& x) {
  const CallScope scope;
  if (x.dtype() == DType::kBool) return full_like(x, false);
  if (!is_float(x.dtype())) return x < 0;
  return copysign(1.0, x.detach()) < 0.0;
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (!is_float(x.dtype())) return x;
  const CallScope scope;
  const double largest = largest_finite(x.dtype());
  const Tensor no_nan = where(isnan(x), nan, x);
  const Tensor no_positive = where(isposinf(x), posinf.value_or(largest), no_nan);
  return where(isneginf(x), neginf.value_or(-largest), no_positive);
}

}  // namespace remora
