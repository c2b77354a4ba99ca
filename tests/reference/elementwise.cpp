// Elementwise rows: one formula for reals and one for integers, where the row has both.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dispatch/error.h"
#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using Real1 = double (*)(double);
using Real2 = double (*)(double, double);
using Integer1 = Integer (*)(Integer);
using Integer2 = Integer (*)(Integer, Integer);
using Truth2 = bool (*)(double, double);
using IntegerTruth2 = bool (*)(Integer, Integer);

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Modulo 2^128, which the result's dtype divides.
Integer product(Integer x, Integer y) {
  return static_cast<Integer>(static_cast<unsigned __int128>(x) *
                              static_cast<unsigned __int128>(y));
}

Integer integer_power(Integer base, Integer exponent) {
  Integer result = 1;
  for (Integer i = 0; i < exponent; ++i) result = product(result, base);
  return result;
}

[[noreturn]] void refuse_division() {
  throw Error(absl::InvalidArgumentError("an integer is divided by 0"));
}

Integer truncated_rest(Integer x, Integer y) {
  if (y == 0) refuse_division();
  return x % y;
}

Integer floored_rest(Integer x, Integer y) {
  const Integer rest = truncated_rest(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

Integer floored_quotient(Integer x, Integer y) { return (x - floored_rest(x, y)) / y; }

double real_rest(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && std::signbit(rest) != std::signbit(y) ? rest + y : rest;
}

/// From the remainder of the truncated quotient, which is exact.
double real_floored_quotient(double x, double y) {
  if (y == 0) return x / y;
  const double rest = std::fmod(x, y);
  const double truncated = std::round((x - rest) / y);
  return rest != 0 && (rest < 0) != (y < 0) ? truncated - 1 : truncated;
}

Shape common_shape(const Arrays& inputs) {
  Shape shape;
  for (const Array& input : inputs) {
    shape = broadcast_shapes(shape, input.spec.shape).value();
  }
  return shape;
}

void unary(Table& table, const char* name, Real1 real, Integer1 integer = nullptr) {
  table[name] = [=](const Arrays& inputs, const dispatch::Attrs&) {
    const Array& x = inputs[0];
    Array result(x.spec);
    for (size_t i = 0; i < x.reals.size(); ++i) result.reals[i] = real(x.reals[i]);
    for (size_t i = 0; i < x.integers.size(); ++i) result.set_integer(i, integer(x.integer(i)));
    return Arrays{result};
  };
}

void binary(Table& table, const char* name, Real2 real, Integer2 integer = nullptr) {
  table[name] = [=](const Arrays& inputs, const dispatch::Attrs&) {
    const Shape shape = common_shape(inputs);
    const Array x = broadcast(inputs[0], shape);
    const Array y = broadcast(inputs[1], shape);
    Array result({x.spec.dtype, shape});
    for (size_t i = 0; i < x.reals.size(); ++i) result.reals[i] = real(x.reals[i], y.reals[i]);
    for (size_t i = 0; i < x.integers.size(); ++i) {
      result.set_integer(i, integer(x.integer(i), y.integer(i)));
    }
    return Arrays{result};
  };
}

void comparison(Table& table, const char* name, Truth2 real, IntegerTruth2 integer) {
  table[name] = [=](const Arrays& inputs, const dispatch::Attrs&) {
    const Shape shape = common_shape(inputs);
    const Array x = broadcast(inputs[0], shape);
    const Array y = broadcast(inputs[1], shape);
    Array result({DType::kBool, shape});
    for (size_t i = 0; i < x.reals.size(); ++i) result.integers[i] = real(x.reals[i], y.reals[i]);
    for (size_t i = 0; i < x.integers.size(); ++i) {
      result.set_integer(i, integer(x.integer(i), y.integer(i)));
    }
    return Arrays{result};
  };
}

Arrays where(const Arrays& inputs, const dispatch::Attrs&) {
  const Shape shape = common_shape(inputs);
  const Array condition = broadcast(inputs[0], shape);
  const Array x = broadcast(inputs[1], shape);
  const Array y = broadcast(inputs[2], shape);
  Array result({x.spec.dtype, shape});
  for (int64_t i = 0; i < result.numel(); ++i) {
    copy_element(condition.integers[static_cast<size_t>(i)] != 0 ? x : y, i, result, i);
  }
  return {result};
}

/// The value truncated and clamped to the dtype's range; NaN gives 0.
Integer saturate(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  const int bits = static_cast<int>(8 * dtype_size(dtype));
  const bool has_sign = dtype_category(dtype) == DTypeCategory::kSigned;
  const Integer highest = (Integer{1} << (has_sign ? bits - 1 : bits)) - 1;
  const Integer lowest = has_sign ? -highest - 1 : 0;
  if (value >= static_cast<double>(highest)) return highest;
  return value <= static_cast<double>(lowest) ? lowest : static_cast<Integer>(value);
}

Arrays astype(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const DType dtype = std::get<dispatch::DTypeAttrs>(attrs).dtype;
  const Array& x = inputs[0];
  Array result({dtype, x.spec.shape});
  for (size_t i = 0; i < static_cast<size_t>(x.numel()); ++i) {
    if (dtype == DType::kBool) {
      result.integers[i] = x.is_real() ? x.reals[i] != 0.0 : x.integers[i] != 0;
    } else if (result.is_real()) {
      result.reals[i] = x.as_real(static_cast<int64_t>(i));
    } else {
      result.set_integer(i, x.is_real() ? saturate(dtype, x.reals[i]) : x.integer(i));
    }
  }
  return {result};
}

void add_unary(Table& t) {
  unary(
      t, "neg", [](double x) { return -x; }, [](Integer x) { return -x; });
  unary(
      t, "abs", [](double x) { return std::fabs(x); }, [](Integer x) { return x < 0 ? -x : x; });
  unary(
      t, "sign",
      [](double x) { return std::isnan(x) ? kNaN : static_cast<double>((x > 0) - (x < 0)); },
      [](Integer x) { return Integer{(x > 0) - (x < 0)}; });
  unary(t, "sqrt", [](double x) { return std::sqrt(x); });
  unary(t, "rsqrt", [](double x) { return 1.0 / std::sqrt(x); });
  unary(t, "exp", [](double x) { return std::exp(x); });
  unary(t, "log", [](double x) { return std::log(x); });
  unary(t, "sin", [](double x) { return std::sin(x); });
  unary(t, "cos", [](double x) { return std::cos(x); });
  unary(t, "tanh", [](double x) { return std::tanh(x); });
  unary(t, "sigmoid", [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
  unary(
      t, "relu", [](double x) { return std::isnan(x) ? kNaN : (x > 0 ? x : 0.0); },
      [](Integer x) { return x > 0 ? x : 0; });
  unary(t, "floor", [](double x) { return std::floor(x); });
  unary(t, "erf", [](double x) { return std::erf(x); });
  unary(t, "logical_not", nullptr, [](Integer x) { return Integer{x == 0}; });
  unary(t, "reciprocal", [](double x) { return 1.0 / x; });
  unary(
      t, "square", [](double x) { return x * x; }, [](Integer x) { return product(x, x); });
  unary(t, "log1p", [](double x) { return std::log1p(x); });
  unary(t, "cbrt", [](double x) { return std::cbrt(x); });
  unary(t, "expm1", [](double x) { return std::expm1(x); });
}

void add_binary(Table& t) {
  binary(
      t, "add", [](double x, double y) { return x + y; },
      [](Integer x, Integer y) { return x + y; });
  binary(
      t, "sub", [](double x, double y) { return x - y; },
      [](Integer x, Integer y) { return x - y; });
  binary(
      t, "mul", [](double x, double y) { return x * y; }, product);
  binary(t, "div", [](double x, double y) { return x / y; });
  binary(
      t, "maximum",
      [](double x, double y) { return std::isnan(x) || std::isnan(y) ? kNaN : std::fmax(x, y); },
      [](Integer x, Integer y) { return x > y ? x : y; });
  binary(
      t, "minimum",
      [](double x, double y) { return std::isnan(x) || std::isnan(y) ? kNaN : std::fmin(x, y); },
      [](Integer x, Integer y) { return x < y ? x : y; });
  binary(
      t, "pow", [](double x, double y) { return std::pow(x, y); }, integer_power);
  binary(
      t, "fmod", [](double x, double y) { return std::fmod(x, y); }, truncated_rest);
  binary(t, "remainder", real_rest, floored_rest);
  binary(t, "floor_divide", real_floored_quotient, floored_quotient);
  binary(t, "logical_and", nullptr, [](Integer x, Integer y) { return Integer{x != 0 && y != 0}; });
  binary(t, "logical_or", nullptr, [](Integer x, Integer y) { return Integer{x != 0 || y != 0}; });
}

void add_comparisons(Table& t) {
  comparison(
      t, "equal", [](double x, double y) { return x == y; },
      [](Integer x, Integer y) { return x == y; });
  comparison(
      t, "not_equal", [](double x, double y) { return x != y; },
      [](Integer x, Integer y) { return x != y; });
  comparison(
      t, "less", [](double x, double y) { return x < y; },
      [](Integer x, Integer y) { return x < y; });
  comparison(
      t, "less_equal", [](double x, double y) { return x <= y; },
      [](Integer x, Integer y) { return x <= y; });
  comparison(
      t, "greater", [](double x, double y) { return x > y; },
      [](Integer x, Integer y) { return x > y; });
  comparison(
      t, "greater_equal", [](double x, double y) { return x >= y; },
      [](Integer x, Integer y) { return x >= y; });
}

}  // namespace

void add_elementwise(Table& table) {
  add_unary(table);
  add_binary(table);
  add_comparisons(table);
  table["where"] = where;
  table["astype"] = astype;
}

}  // namespace remora::reference
