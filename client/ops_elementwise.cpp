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
  const CallScope scope;
  return apply(code, {promote_one(x, domain)});
}

}  // namespace

// Float functions and arithmetic that are rows of the catalogue.
Tensor sqrt(const Tensor& x) { return unary(OpCode::sqrt, x, Domain::kFloat); }
Tensor rsqrt(const Tensor& x) { return unary(OpCode::rsqrt, x, Domain::kFloat); }
Tensor reciprocal(const Tensor& x) { return unary(OpCode::reciprocal, x, Domain::kFloat); }
Tensor exp(const Tensor& x) { return unary(OpCode::exp, x, Domain::kFloat); }
Tensor expm1(const Tensor& x) { return unary(OpCode::expm1, x, Domain::kFloat); }
Tensor log(const Tensor& x) { return unary(OpCode::log, x, Domain::kFloat); }
Tensor log1p(const Tensor& x) { return unary(OpCode::log1p, x, Domain::kFloat); }
Tensor sin(const Tensor& x) { return unary(OpCode::sin, x, Domain::kFloat); }
Tensor cos(const Tensor& x) { return unary(OpCode::cos, x, Domain::kFloat); }
Tensor tanh(const Tensor& x) { return unary(OpCode::tanh, x, Domain::kFloat); }
Tensor erf(const Tensor& x) { return unary(OpCode::erf, x, Domain::kFloat); }
Tensor sigmoid(const Tensor& x) { return unary(OpCode::sigmoid, x, Domain::kFloat); }
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

// -- composed

Tensor exp2(const Tensor& x) { return pow(2.0, promote_one(x, Domain::kFloat)); }
Tensor log2(const Tensor& x) {
  const CallScope scope;
  return log(x) * std::numbers::log2e;
}
Tensor log10(const Tensor& x) {
  const CallScope scope;
  return log(x) * std::numbers::log10e;
}
Tensor tan(const Tensor& x) {
  const CallScope scope;
  return sin(x) / cos(x);
}

namespace {

/// |x| and the sign, -1 or 1, such that the product differentiates to 1 at 0.
std::pair<Tensor, Tensor> magnitude_and_sign(const Tensor& x) {
  const Tensor negative = x < 0.0;
  return {where(negative, -x, x), where(negative, -1.0, full_like(x.inner(), 1.0))};
}

}  // namespace

Tensor sinh(const Tensor& x) {
  const CallScope scope;
  const auto [magnitude, sign] = magnitude_and_sign(promote_one(x, Domain::kFloat));
  const Tensor e = expm1(magnitude);  // exact near 0, where exp(x) - exp(-x) cancels
  return sign * (0.5 * e * (1.0 + 1.0 / (e + 1.0)));
}
Tensor cosh(const Tensor& x) {
  const CallScope scope;
  const Tensor e = exp(abs(promote_one(x, Domain::kFloat)));
  return 0.5 * e + 0.5 / e;
}
Tensor asinh(const Tensor& x) {
  const CallScope scope;
  const auto [magnitude, sign] = magnitude_and_sign(promote_one(x, Domain::kFloat));
  const Tensor large = magnitude > 1e8;  // where the square may overflow and asinh is log(2 x)
  const Tensor a = where(large, 1.0, magnitude);
  const Tensor s = square(a);
  // log(a + sqrt(a^2 + 1)), written to be exact near 0
  const Tensor moderate = log1p(a + s / (1.0 + sqrt(s + 1.0)));
  return sign * where(large, log(where(large, magnitude, 1.0)) + std::numbers::ln2, moderate);
}
Tensor acosh(const Tensor& x) {
  const CallScope scope;
  const Tensor t = promote_one(x, Domain::kFloat) - 1.0;
  return log1p(t + sqrt(t) * sqrt(t + 2.0));
}
Tensor atanh(const Tensor& x) {
  const CallScope scope;
  const Tensor f = promote_one(x, Domain::kFloat);
  return 0.5 * (log1p(f) - log1p(-f));
}
Tensor erfc(const Tensor& x) {
  const CallScope scope;
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return erfc(f); });
  }
  return 1.0 - erf(x);
}

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
  if (is_rounded_already("ceil", x)) return x;
  const CallScope scope;
  return neg(apply(OpCode::floor, {neg(x)}));
}
Tensor trunc(const Tensor& x) {
  if (is_rounded_already("trunc", x)) return x;
  const CallScope scope;
  return where(x < 0.0, ceil(x), floor(x));
}
Tensor round(const Tensor& x) {
  if (is_rounded_already("round", x)) return x;
  const CallScope scope;
  const Tensor below = floor(x);
  const Tensor rest = x - below;
  const Tensor odd = below - 2.0 * floor(below * 0.5);  // 1 where `below` is odd
  const Tensor up = logical_or(rest > 0.5, logical_and(equal(rest, 0.5), equal(odd, 1.0)));
  const Tensor rounded = where(up, below + 1.0, below);
  return where(equal(rounded, 0.0), x.detach() * 0.0, rounded);  // a zero keeps the sign of x
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

Tensor isnan(const Tensor& x) { return not_equal(x, x); }

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
  // 1 / -0 is minus infinity
  return logical_or(x < 0.0, logical_and(equal(x, 0.0), reciprocal(x) < 0.0));
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (!is_float(x.dtype())) return x;
  const CallScope scope;
  const double largest = x.dtype() == DType::kF64   ? std::numeric_limits<double>::max()
                         : x.dtype() == DType::kF16 ? 65504.0
                         : x.dtype() == DType::kBF16
                             ? 0x1.fep127
                             : static_cast<double>(std::numeric_limits<float>::max());
  const Tensor no_nan = where(isnan(x), nan, x);
  const Tensor no_positive = where(isposinf(x), posinf.value_or(largest), no_nan);
  return where(isneginf(x), neginf.value_or(-largest), no_positive);
}

}  // namespace remora
