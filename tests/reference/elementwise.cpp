// Elementwise rows: one formula for reals and one for integers, where the row has both.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using Real1 = double (*)(double);
using Real2 = double (*)(double, double);
using Integer1 = int64_t (*)(int64_t);
using Integer2 = int64_t (*)(int64_t, int64_t);
using Truth2 = bool (*)(double, double);
using IntegerTruth2 = bool (*)(int64_t, int64_t);

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t wrap(uint64_t bits) { return static_cast<int64_t>(bits); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

int64_t integer_power(int64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) result *= bits(base);
  return wrap(result);
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
    for (size_t i = 0; i < x.integers.size(); ++i) result.integers[i] = integer(x.integers[i]);
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
      result.integers[i] = integer(x.integers[i], y.integers[i]);
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
      result.integers[i] = integer(x.integers[i], y.integers[i]);
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

int64_t saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

Arrays astype(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const DType dtype = std::get<dispatch::DTypeAttrs>(attrs).dtype;
  const Array& x = inputs[0];
  Array result({dtype, x.spec.shape});
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (dtype == DType::kBool) {
      result.integers[at] = x.is_real() ? x.reals[at] != 0.0 : x.integers[at] != 0;
    } else if (result.is_real()) {
      result.reals[at] = x.as_real(i);
    } else {
      result.integers[at] = x.is_real() ? saturate(x.reals[at]) : x.integers[at];
    }
  }
  return {result};
}

void add_unary(Table& t) {
  unary(
      t, "neg", [](double x) { return -x; }, [](int64_t x) { return wrap(0 - bits(x)); });
  unary(
      t, "abs", [](double x) { return std::fabs(x); },
      [](int64_t x) { return x < 0 ? wrap(0 - bits(x)) : x; });
  unary(
      t, "sign",
      [](double x) { return std::isnan(x) ? kNaN : static_cast<double>((x > 0) - (x < 0)); },
      [](int64_t x) { return static_cast<int64_t>((x > 0) - (x < 0)); });
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
      [](int64_t x) { return x > 0 ? x : 0; });
  unary(t, "floor", [](double x) { return std::floor(x); });
  unary(t, "erf", [](double x) { return std::erf(x); });
  unary(t, "logical_not", nullptr, [](int64_t x) { return static_cast<int64_t>(x == 0); });
  unary(t, "reciprocal", [](double x) { return 1.0 / x; });
  unary(
      t, "square", [](double x) { return x * x; },
      [](int64_t x) { return wrap(bits(x) * bits(x)); });
  unary(t, "log1p", [](double x) { return std::log1p(x); });
  unary(t, "expm1", [](double x) { return std::expm1(x); });
}

void add_binary(Table& t) {
  binary(
      t, "add", [](double x, double y) { return x + y; },
      [](int64_t x, int64_t y) { return wrap(bits(x) + bits(y)); });
  binary(
      t, "sub", [](double x, double y) { return x - y; },
      [](int64_t x, int64_t y) { return wrap(bits(x) - bits(y)); });
  binary(
      t, "mul", [](double x, double y) { return x * y; },
      [](int64_t x, int64_t y) { return wrap(bits(x) * bits(y)); });
  binary(t, "div", [](double x, double y) { return x / y; });
  binary(
      t, "maximum",
      [](double x, double y) { return std::isnan(x) || std::isnan(y) ? kNaN : std::fmax(x, y); },
      [](int64_t x, int64_t y) { return x > y ? x : y; });
  binary(
      t, "minimum",
      [](double x, double y) { return std::isnan(x) || std::isnan(y) ? kNaN : std::fmin(x, y); },
      [](int64_t x, int64_t y) { return x < y ? x : y; });
  binary(
      t, "pow", [](double x, double y) { return std::pow(x, y); }, integer_power);
  binary(t, "fmod", [](double x, double y) { return std::fmod(x, y); });
  binary(t, "remainder", [](double x, double y) {
    const double rest = std::fmod(x, y);
    return rest != 0 && std::signbit(rest) != std::signbit(y) ? rest + y : rest;
  });
  binary(t, "logical_and", nullptr,
         [](int64_t x, int64_t y) { return static_cast<int64_t>(x != 0 && y != 0); });
  binary(t, "logical_or", nullptr,
         [](int64_t x, int64_t y) { return static_cast<int64_t>(x != 0 || y != 0); });
}

void add_comparisons(Table& t) {
  comparison(
      t, "equal", [](double x, double y) { return x == y; },
      [](int64_t x, int64_t y) { return x == y; });
  comparison(
      t, "not_equal", [](double x, double y) { return x != y; },
      [](int64_t x, int64_t y) { return x != y; });
  comparison(
      t, "less", [](double x, double y) { return x < y; },
      [](int64_t x, int64_t y) { return x < y; });
  comparison(
      t, "less_equal", [](double x, double y) { return x <= y; },
      [](int64_t x, int64_t y) { return x <= y; });
  comparison(
      t, "greater", [](double x, double y) { return x > y; },
      [](int64_t x, int64_t y) { return x > y; });
  comparison(
      t, "greater_equal", [](double x, double y) { return x >= y; },
      [](int64_t x, int64_t y) { return x >= y; });
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
