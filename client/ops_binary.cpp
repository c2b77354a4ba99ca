// Elementwise functions of two and three operands.
#include <array>
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

Tensor binary(std::string_view function, OpCode code, const Operand& x, const Operand& y,
              Domain domain) {
  const CallScope scope(function);
  const auto [a, b] = promote_pair(function, x, y, domain);
  return apply(code, {a, b});
}

bool both_bool(std::string_view function, const Operand& x, const Operand& y) {
  return common_dtype(function, x, y) == DType::kBool;
}

/// An operand as a truth value; a number becomes a constant like `like`.
Tensor truth(const Operand& x, const Tensor& like) {
  if (!x.is_tensor()) return constant(like, x.number().as_double() != 0.0, DType::kBool);
  return x.tensor().dtype() == DType::kBool ? x.tensor() : not_equal(x, 0);
}

std::pair<Tensor, Tensor> truths(std::string_view function, const Operand& x, const Operand& y) {
  if (on_two_devices(x, y)) {
    const OpInputs placed = on_one_device(function, std::array{x.tensor(), y.tensor()});
    return truths(function, placed[0], placed[1]);
  }
  common_dtype(function, x, x.is_tensor() ? x : y);
  const Tensor& like = x.is_tensor() ? x.tensor() : y.tensor();
  return {truth(x, like), truth(y, like)};
}

}  // namespace

Tensor add(const Operand& x, const Operand& y) {
  const bool is_or = both_bool("add", x, y);
  return binary("add", is_or ? OpCode::logical_or : OpCode::add, x, y, Domain::kAny);
}

Tensor sub(const Operand& x, const Operand& y) {
  if (both_bool("sub", x, y)) {
    refuse("sub", "booleans have no difference; use logical_xor, or convert with astype");
  }
  return binary("sub", OpCode::sub, x, y, Domain::kAny);
}

Tensor mul(const Operand& x, const Operand& y) {
  const bool is_and = both_bool("mul", x, y);
  return binary("mul", is_and ? OpCode::logical_and : OpCode::mul, x, y, Domain::kAny);
}

Tensor div(const Operand& x, const Operand& y) {
  return binary("div", OpCode::div, x, y, Domain::kFloat);
}

Tensor pow(const Operand& x, const Operand& y) {
  const bool integer_base = x.is_tensor() && !is_float(x.tensor().dtype());
  if (integer_base && !y.is_tensor() && !y.number().is_float() && y.number().as_int64() < 0) {
    refuse("pow", str_cat("an integer to the power ", y.number().as_int64(),
                          " is no integer; use float_power"));
  }
  return binary("pow", OpCode::pow, x, y, Domain::kArithmetic);
}

Tensor float_power(const Operand& x, const Operand& y) {
  return binary("float_power", OpCode::pow, x, y, Domain::kFloat);
}

Tensor maximum(const Operand& x, const Operand& y) {
  const bool is_or = both_bool("maximum", x, y);
  return binary("maximum", is_or ? OpCode::logical_or : OpCode::maximum, x, y, Domain::kAny);
}

Tensor minimum(const Operand& x, const Operand& y) {
  const bool is_and = both_bool("minimum", x, y);
  return binary("minimum", is_and ? OpCode::logical_and : OpCode::minimum, x, y, Domain::kAny);
}

Tensor equal(const Operand& x, const Operand& y) {
  return binary("equal", OpCode::equal, x, y, Domain::kAny);
}
Tensor not_equal(const Operand& x, const Operand& y) {
  return binary("not_equal", OpCode::not_equal, x, y, Domain::kAny);
}
Tensor less(const Operand& x, const Operand& y) {
  return binary("less", OpCode::less, x, y, Domain::kAny);
}
Tensor less_equal(const Operand& x, const Operand& y) {
  return binary("less_equal", OpCode::less_equal, x, y, Domain::kAny);
}
Tensor greater(const Operand& x, const Operand& y) {
  return binary("greater", OpCode::greater, x, y, Domain::kAny);
}
Tensor greater_equal(const Operand& x, const Operand& y) {
  return binary("greater_equal", OpCode::greater_equal, x, y, Domain::kAny);
}

Tensor logical_and(const Operand& x, const Operand& y) {
  const CallScope scope;
  const auto [a, b] = truths("logical_and", x, y);
  return apply(OpCode::logical_and, {a, b});
}
Tensor logical_or(const Operand& x, const Operand& y) {
  const CallScope scope;
  const auto [a, b] = truths("logical_or", x, y);
  return apply(OpCode::logical_or, {a, b});
}
Tensor logical_xor(const Operand& x, const Operand& y) {
  const CallScope scope;
  const auto [a, b] = truths("logical_xor", x, y);
  return apply(OpCode::not_equal, {a, b});
}

Tensor where(const Tensor& condition, const Operand& x, const Operand& y) {
  const CallScope scope;
  if (on_two_devices(condition, x) || on_two_devices(condition, y) || on_two_devices(x, y)) {
    Tensors tensors = {condition};
    for (const Operand* operand : {&x, &y}) {
      if (operand->is_tensor()) tensors.push_back(operand->tensor());
    }
    const OpInputs placed = on_one_device("where", tensors);
    return where(placed[0], x.is_tensor() ? Operand(placed[1]) : x,
                 y.is_tensor() ? Operand(placed.back()) : y);
  }
  if (condition.dtype() != DType::kBool) {
    refuse("where",
           str_cat("the condition is ", dtype_name(condition.dtype()), "; it must be bool"));
  }
  const bool numbers = !x.is_tensor() && !y.is_tensor();
  DType dtype = DType::kF32;
  if (numbers) {
    const bool floating =
        x.category() == DTypeCategory::kFloat || y.category() == DTypeCategory::kFloat;
    const bool boolean =
        x.category() == DTypeCategory::kBoolean && y.category() == DTypeCategory::kBoolean;
    dtype = floating ? default_float(condition.device()) : boolean ? DType::kBool : DType::kI64;
  } else {
    dtype = common_dtype("where", x, y);
  }
  const Tensor& like = x.is_tensor() ? x.tensor() : y.is_tensor() ? y.tensor() : condition;
  return apply(OpCode::where,
               {condition, materialize(x, like, dtype), materialize(y, like, dtype)});
}

namespace {

/// A row over bits: of integers, or of booleans through their own row.
Tensor bitwise(std::string_view function, OpCode code, OpCode of_booleans, const Operand& x,
               const Operand& y) {
  const DType dtype = common_dtype(function, x, y);
  if (is_float(dtype)) {
    refuse(function, str_cat("takes integers and booleans, not ", dtype_name(dtype)));
  }
  return binary(function, dtype == DType::kBool ? of_booleans : code, x, y, Domain::kAny);
}

/// A row of integers; booleans act as i64.
Tensor integral(std::string_view function, OpCode code, const Operand& x, const Operand& y) {
  const DType dtype = common_dtype(function, x, y);
  if (is_float(dtype)) refuse(function, str_cat("takes integers, not ", dtype_name(dtype)));
  return binary(function, code, x, y, Domain::kArithmetic);
}

}  // namespace

Tensor bitwise_and(const Operand& x, const Operand& y) {
  return bitwise("bitwise_and", OpCode::bitwise_and, OpCode::logical_and, x, y);
}
Tensor bitwise_or(const Operand& x, const Operand& y) {
  return bitwise("bitwise_or", OpCode::bitwise_or, OpCode::logical_or, x, y);
}
Tensor bitwise_xor(const Operand& x, const Operand& y) {
  return bitwise("bitwise_xor", OpCode::bitwise_xor, OpCode::not_equal, x, y);
}
Tensor bitwise_left_shift(const Operand& x, const Operand& y) {
  return integral("bitwise_left_shift", OpCode::bitwise_left_shift, x, y);
}
Tensor bitwise_right_shift(const Operand& x, const Operand& y) {
  return integral("bitwise_right_shift", OpCode::bitwise_right_shift, x, y);
}
Tensor gcd(const Operand& x, const Operand& y) { return integral("gcd", OpCode::gcd, x, y); }
Tensor lcm(const Operand& x, const Operand& y) { return integral("lcm", OpCode::lcm, x, y); }

// -- composed

Tensor clip(const Tensor& x, std::optional<Operand> low, std::optional<Operand> high) {
  const CallScope scope;
  if (!low && !high) refuse("clip", "needs a lower or an upper bound");
  // Not maximum and minimum: at a bound they would halve the gradient, clip passes it.
  Tensor result = x;
  if (low) {
    const auto [a, bound] = promote_pair("clip", result, *low, Domain::kAny);
    result = where(a < bound, bound, a);
  }
  if (high) {
    const auto [a, bound] = promote_pair("clip", result, *high, Domain::kAny);
    result = where(a > bound, bound, a);
  }
  return result;
}

Tensor floor_divide(const Operand& x, const Operand& y) {
  return binary("floor_divide", OpCode::floor_divide, x, y, Domain::kArithmetic);
}

Tensor remainder(const Operand& x, const Operand& y) {
  return binary("remainder", OpCode::remainder, x, y, Domain::kArithmetic);
}

Tensor fmod(const Operand& x, const Operand& y) {
  return binary("fmod", OpCode::fmod, x, y, Domain::kArithmetic);
}

Tensor fmax(const Operand& x, const Operand& y) {
  const bool floating = is_float(common_dtype("fmax", x, y));
  return floating ? binary("fmax", OpCode::fmax, x, y, Domain::kAny) : maximum(x, y);
}

Tensor fmin(const Operand& x, const Operand& y) {
  const bool floating = is_float(common_dtype("fmin", x, y));
  return floating ? binary("fmin", OpCode::fmin, x, y, Domain::kAny) : minimum(x, y);
}

Tensor hypot(const Operand& x, const Operand& y) {
  return binary("hypot", OpCode::hypot, x, y, Domain::kFloat);
}

Tensor atan2(const Operand& y, const Operand& x) {
  return binary("atan2", OpCode::atan2, y, x, Domain::kFloat);
}

Tensor logaddexp(const Operand& x, const Operand& y) {
  return binary("logaddexp", OpCode::logaddexp, x, y, Domain::kFloat);
}

Tensor logaddexp2(const Operand& x, const Operand& y) {
  const CallScope scope;
  const auto [a, b] = promote_pair("logaddexp2", x, y, Domain::kFloat);
  return logaddexp(a * std::numbers::ln2, b * std::numbers::ln2) * std::numbers::log2e;
}

Tensor xlogy(const Operand& x, const Operand& y) {
  return binary("xlogy", OpCode::xlogy, x, y, Domain::kFloat);
}

Tensor heaviside(const Operand& x, const Operand& values) {
  const CallScope scope;
  const auto [a, v] = promote_pair("heaviside", x, values, Domain::kAny);
  if (a.dtype() == DType::kBool) return logical_or(a, v);
  const Tensor step = where(a < 0, 0, where(equal(a, 0), v, full_like(a.inner(), 1)));
  return is_float(a.dtype()) ? where(isnan(a), a, step) : step;
}

Tensor copysign(const Operand& x, const Operand& y) {
  return binary("copysign", OpCode::copysign, x, y, Domain::kFloat);
}

Tensor ldexp(const Operand& x, const Operand& y) {
  const CallScope scope;
  const auto [a, b] = promote_pair("ldexp", x, y, Domain::kFloat);
  return a * pow(2.0, b);
}

Tensor isclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  const CallScope scope;
  if (rtol < 0 || atol < 0)
    refuse("isclose", str_cat("negative tolerance: rtol ", rtol, ", atol ", atol));
  Tensor close = equal(x, y);
  const bool floating = is_float(common_dtype("isclose", x, y));
  if (rtol > 0 || atol > 0) {
    const auto [a, b] = promote_pair("isclose", x, y, Domain::kFloat);
    const Tensor within = abs(a - b) <= atol + rtol * abs(b);
    close = logical_or(close, logical_and(isfinite(b), logical_and(isfinite(a), within)));
  }
  if (equal_nan && floating) close = logical_or(close, logical_and(isnan(x), isnan(y)));
  return close;
}

Tensor allclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  const CallScope scope;
  return all(isclose(x, y, rtol, atol, equal_nan));
}

Tensor array_equal(const Tensor& x, const Tensor& y) {
  const CallScope scope;
  if (x.shape() != y.shape()) return constant(x, false, DType::kBool);
  return all(equal(x, y));
}

Tensor lerp(const Tensor& start, const Tensor& end, const Operand& weight) {
  const CallScope scope;
  require_float("lerp", start.dtype());
  if (is_half(start.dtype()) && start.dtype() == end.dtype()) {
    return through_f32(start, [&](const Tensor& f) { return lerp(f, end, weight); });
  }
  return start + weight * (end - start);
}

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  const CallScope scope;
  return x + value * (a * b);
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  const CallScope scope;
  return x + value * (a / b);
}

}  // namespace remora
