// Elementwise rows beyond the basic ones. What the C library lacks is written out here from its
// definition.
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void unary(Table& table, const char* name, double (*function)(double)) {
  table[name] = [=](const Arrays& inputs, const dispatch::Attrs&) {
    Array result = inputs[0];
    for (double& element : result.reals) element = function(element);
    return Arrays{result};
  };
}

template <typename OfReals, typename OfIntegers>
void binary(Table& table, const char* name, OfReals real, OfIntegers integer) {
  table[name] = [=](const Arrays& inputs, const dispatch::Attrs&) {
    const Shape shape = broadcast_shapes(inputs[0].spec.shape, inputs[1].spec.shape).value();
    const Array x = broadcast(inputs[0], shape);
    const Array y = broadcast(inputs[1], shape);
    Array result(x.spec);
    for (size_t i = 0; i < x.reals.size(); ++i) result.reals[i] = real(x.reals[i], y.reals[i]);
    for (size_t i = 0; i < x.integers.size(); ++i) {
      result.set_integer(i, integer(x.integer(i), y.integer(i)));
    }
    return Arrays{result};
  };
}
void of_reals(Table& table, const char* name, double (*function)(double, double)) {
  binary(table, name, function, [](Integer, Integer) { return Integer{0}; });
}
void of_integers(Table& table, const char* name, Integer (*function)(Integer, Integer)) {
  binary(
      table, name, [](double, double) { return 0.0; }, function);
}

/// By halving: erf is monotonic.
double erfinv(double x) {
  if (std::isnan(x) || std::fabs(x) > 1.0) return kNaN;
  if (std::fabs(x) == 1.0) return std::copysign(kInfinity, x);
  const long double wanted = std::fabs(x);
  if (wanted < 1e-6L) return x / (2.0 * std::numbers::inv_sqrtpi);  // the next term is x^3
  long double low = 0.0L, high = 8.0L;
  for (int step = 0; step < 120; ++step) {
    const long double middle = (low + high) / 2;
    // Near 1 the difference from 1 tells more.
    const bool below = wanted < 0.5L ? std::erf(middle) < wanted : std::erfc(middle) > 1 - wanted;
    (below ? low : high) = middle;
  }
  return static_cast<double>(std::copysign((low + high) / 2, static_cast<long double>(x)));
}

/// By the recurrence up to 40, then three terms of the asymptotic series.
double digamma(double x) {
  if (std::isnan(x) || x == -kInfinity) return kNaN;
  if (x == 0.0) return std::copysign(kInfinity, -x);
  if (x < 0.0 && x == std::floor(x)) return kNaN;
  long double at = x;
  long double result = 0.0L;
  for (; at < 40.0L; at += 1.0L) result -= 1.0L / at;
  const long double square = at * at;
  return static_cast<double>(result + std::log(at) - 0.5L / at - 1.0L / (12.0L * square) +
                             1.0L / (120.0L * square * square) -
                             1.0L / (252.0L * square * square * square));
}

/// (-1)^(n + 1) n! times the sum of (x + k)^-(n + 1): 2000 terms and the integral of the rest.
Arrays polygamma(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const int64_t order = std::get<dispatch::OrderAttrs>(attrs).order;
  Array result = inputs[0];
  for (double& element : result.reals) {
    if (order == 0) {
      element = digamma(element);
      continue;
    }
    if (std::isnan(element)) continue;
    const auto s = static_cast<long double>(order + 1);
    long double sum = 0.0L;
    if (element <= 0.0 && element == std::floor(element)) {
      sum = kInfinity;
    } else if (std::isfinite(element)) {
      constexpr int kTerms = 2000;
      for (int k = kTerms - 1; k >= 0; --k) {
        sum += 1.0L / std::pow(static_cast<long double>(element) + k, order + 1);
      }
      const long double rest = static_cast<long double>(element) + kTerms;
      const long double power = std::pow(rest, -s);
      sum += power * rest / (s - 1) + power / 2 + s * power / rest / 12;
    }
    const double factorial = std::tgamma(static_cast<double>(order) + 1.0);
    element = static_cast<double>(order % 2 == 0 ? -factorial * sum : factorial * sum);
  }
  return {result};
}

double logaddexp(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  const double larger = std::fmax(x, y);
  const double smaller = std::fmin(x, y);
  if (std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(smaller - larger));
}

using Unsigned = unsigned __int128;

Integer shifted_left(Integer x, Integer y) {
  return y < 0 || y > 63 ? 0 : static_cast<Integer>(static_cast<Unsigned>(x) << y);
}
Integer shifted_right(Integer x, Integer y) { return x >> (y < 0 || y > 63 ? 127 : y); }

Integer magnitude(Integer x) { return x < 0 ? -x : x; }

/// Euclid's.
Integer common_divisor(Integer x, Integer y) {
  return y == 0 ? magnitude(x) : common_divisor(y, x % y);
}

/// The magnitude of what the multiple wraps to.
Arrays common_multiple(const Arrays& inputs, const dispatch::Attrs&) {
  const Shape shape = broadcast_shapes(inputs[0].spec.shape, inputs[1].spec.shape).value();
  const Array x = broadcast(inputs[0], shape);
  const Array y = broadcast(inputs[1], shape);
  Array result(x.spec);
  for (size_t i = 0; i < x.integers.size(); ++i) {
    const Integer divisor = common_divisor(x.integer(i), y.integer(i));
    if (divisor == 0) continue;
    const Unsigned multiple = static_cast<Unsigned>(magnitude(x.integer(i)) / divisor) *
                              static_cast<Unsigned>(magnitude(y.integer(i)));
    result.set_integer(i, static_cast<Integer>(multiple));
    result.set_integer(i, magnitude(result.integer(i)));
  }
  return {result};
}

void add_unary(Table& t) {
  unary(t, "asin", [](double x) { return std::asin(x); });
  unary(t, "acos", [](double x) { return std::acos(x); });
  unary(t, "atan", [](double x) { return std::atan(x); });
  unary(t, "sinh", [](double x) { return std::sinh(x); });
  unary(t, "cosh", [](double x) { return std::cosh(x); });
  unary(t, "asinh", [](double x) { return std::asinh(x); });
  unary(t, "acosh", [](double x) { return std::acosh(x); });
  unary(t, "atanh", [](double x) { return std::atanh(x); });
  unary(t, "tan", [](double x) { return std::tan(x); });
  unary(t, "exp2", [](double x) { return std::exp2(x); });
  unary(t, "log2", [](double x) { return std::log2(x); });
  unary(t, "log10", [](double x) { return std::log10(x); });
  unary(t, "ceil", [](double x) { return std::ceil(x); });
  unary(t, "round", [](double x) { return std::nearbyint(x); });
  unary(t, "trunc", [](double x) { return std::trunc(x); });
  unary(t, "erfc", [](double x) { return std::erfc(x); });
  unary(t, "lgamma", [](double x) { return std::lgamma(x); });
  unary(t, "erfinv", erfinv);
  unary(t, "digamma", digamma);
  t["polygamma"] = polygamma;
  t["bitwise_not"] = [](const Arrays& inputs, const dispatch::Attrs&) {
    Array result = inputs[0];
    for (size_t i = 0; i < result.integers.size(); ++i) {
      result.set_integer(i, -1 - result.integer(i));
    }
    return Arrays{result};
  };
}

}  // namespace

void add_special(Table& t) {
  add_unary(t);
  of_reals(t, "atan2", [](double y, double x) { return std::atan2(y, x); });
  of_reals(t, "copysign", [](double x, double y) { return std::copysign(x, y); });
  of_reals(t, "hypot", [](double x, double y) { return std::hypot(x, y); });
  of_reals(t, "fmax", [](double x, double y) { return std::fmax(x, y); });
  of_reals(t, "fmin", [](double x, double y) { return std::fmin(x, y); });
  of_reals(t, "logaddexp", logaddexp);
  of_reals(t, "xlogy",
           [](double x, double y) { return x == 0.0 && !std::isnan(y) ? 0.0 : x * std::log(y); });
  of_integers(t, "bitwise_and", [](Integer x, Integer y) { return x & y; });
  of_integers(t, "bitwise_or", [](Integer x, Integer y) { return x | y; });
  of_integers(t, "bitwise_xor", [](Integer x, Integer y) { return x ^ y; });
  of_integers(t, "bitwise_left_shift", shifted_left);
  of_integers(t, "bitwise_right_shift", shifted_right);
  of_integers(t, "gcd", common_divisor);
  t["lcm"] = common_multiple;
}

}  // namespace remora::reference
