// Functions of double without branches or library calls, so that loops over them are vectorised:
// what f64 rows and, rounded once, f32 rows are made of. Polynomials are minimax fits (Chebyshev,
// 40 digits), the reductions those of fdlibm. "Accurate" means within 2 ULP of f64; the others are
// within 1e-9 of the value, which rounds to the right float but for rare ties.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace remora::cpu {

/// Highest power first; every coefficient is a double.
template <typename... Rest>
[[gnu::always_inline]] inline double d_polynomial(double x, double first, Rest... rest) {
  double result = first;
  ((result = std::fma(result, x, rest)), ...);
  return result;
}

/// Adding it rounds to the nearest integer, which is then in the low bits.
inline constexpr double kDoubleRounder = 6755399441055744.0;  // 1.5 * 2^52

/// 2^n of a whole n in [-1022, 1023], given as n + kDoubleRounder.
[[gnu::always_inline]] inline double d_power_of_two(double shifted) {
  return std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023u) << 52);
}

/// e^x, accurate, denormal results included.
[[gnu::always_inline]] inline double d_exp(double x) {
  const double clamped = x < -746.0 ? -746.0 : (x > 710.0 ? 710.0 : x);
  const double n = std::fma(clamped, 1.4426950408889634, kDoubleRounder) - kDoubleRounder;
  double r = std::fma(n, -6.93147180369123816490e-01, clamped);
  r = std::fma(n, -1.90821492927058770002e-10, r);
  const double p =
      d_polynomial(r, 2.09147553258932021e-09, 2.51053127296221029e-08, 2.75572734787185824e-07,
                   2.75572551700008879e-06, 2.48015873256774607e-05, 1.98412698750022792e-04,
                   1.38888888888837113e-03, 8.33333333332608381e-03, 4.16666666666666713e-02,
                   1.66666666666666713e-01, 0.5);
  const double value = std::fma(p, r * r, r) + 1.0;
  // In two factors: n can be outside a double's exponents.
  const double half = std::fma(n, 0.5, kDoubleRounder);
  const double rest = (n - (half - kDoubleRounder)) + kDoubleRounder;
  return value * d_power_of_two(half) * d_power_of_two(rest);
}

/// log(x) of a positive finite x, accurate; some number of any other.
[[gnu::always_inline]] inline double d_log_of_positive(double x) {
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCDu;  // sqrt(1/2)
  const bool tiny = x < std::numeric_limits<double>::min();
  const double scaled = tiny ? x * 18014398509481984.0 : x;  // 2^54
  // The mantissa in [sqrt(1/2), sqrt(2)) and the exponent that goes with it.
  const uint64_t bits = std::bit_cast<uint64_t>(scaled) + (0x3FF0000000000000u - kRootHalf);
  const double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) -
                          (4503599627370496.0 + 1023.0) - (tiny ? 54.0 : 0.0);
  const double f = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double r =
      z * d_polynomial(z, 1.30880348509275546e-01, 1.32686383692668247e-01, 1.53862447376216654e-01,
                       1.81817955475211374e-01, 2.22222223925810453e-01, 2.85714285707997839e-01,
                       4.00000000000008848e-01, 6.66666666666666630e-01);
  const double half_square = 0.5 * f * f;
  const double low = std::fma(s, half_square + r, exponent * 1.90821492927058770002e-10);
  return exponent * 6.93147180369123816490e-01 - ((half_square - low) - f);
}

/// log(x), accurate.
[[gnu::always_inline]] inline double d_log(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double result = d_log_of_positive(x);
  const double positive = x == kInfinity ? x : result;
  const double finite = x == 0.0 ? -kInfinity : positive;
  return static_cast<bool>((x < 0.0) | (x != x)) ? std::numeric_limits<double>::quiet_NaN()
                                                 : finite;
}

/// sin(x + quarters * pi / 2), accurate for |x| < 1e5; the reduction is Cody and Waite's, in
/// three parts.
[[gnu::always_inline]] inline double d_sin(double x, uint64_t quarters) {
  const double shifted = std::fma(x, 6.36619772367581382433e-01, kDoubleRounder);
  const double n = shifted - kDoubleRounder;
  double r = std::fma(n, -1.57079632679489655800e+00, x);
  r = std::fma(n, -6.12323399573676603587e-17, r);
  r = std::fma(n, 1.49738490485916983e-33, r);
  const double z = r * r;
  const double sine_part =
      d_polynomial(z, 1.59178485248082617e-10, -2.50511279440141876e-08, 2.75573160838163581e-06,
                   -1.98412698367224182e-04, 8.33333333333092542e-03, -1.66666666666666657e-01);
  const double s = std::copysign(std::fma(r * z, sine_part, r), r);
  const double cosine_part =
      d_polynomial(z, 4.74580488976067427e-14, -1.14704597496756069e-11, 2.08767557838940379e-09,
                   -2.75573192213821143e-07, 2.48015873015846182e-05, -1.38888888888888873e-03,
                   4.16666666666666644e-02);
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  const double c = w + std::fma(z * z, cosine_part, (1.0 - w) - half);
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted) + quarters;
  const double value = (quadrant & 1u) != 0 ? c : s;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ ((quadrant & 2u) << 62));
}

/// tanh(x), accurate.
[[gnu::always_inline]] inline double d_tanh(double x) {
  const double magnitude = std::fabs(x);
  const double z = x * x;
  const double small = std::fma(
      x * z,
      d_polynomial(z, -1.69257198880615849e-05, 7.89991236309280120e-05, -2.30297279194274952e-04,
                   5.87226419141852240e-04, -1.45525336200899168e-03, 3.59204982639238545e-03,
                   -8.86322892311946185e-03, 2.18694882090666454e-02, -5.39682539599200262e-02,
                   1.33333333333250287e-01, -3.33333333333333204e-01),
      x);
  const double far = 1.0 - 2.0 / (d_exp(magnitude + magnitude) + 1.0);
  return std::copysign(magnitude < 0.625 ? small : far, x);
}

// -- for f32, through double

[[gnu::always_inline]] inline double d_expm1(double x) {
  return std::fabs(x) < 1e-5 ? std::fma(0.5 * x, x, x) : d_exp(x) - 1.0;
}
[[gnu::always_inline]] inline double d_log1p(double x) {
  const double small = x * std::fma(x, std::fma(x, 1.0 / 3.0, -0.5), 1.0);
  return std::fabs(x) < 1e-4 ? small : d_log(1.0 + x);
}
/// 1 or -1 beyond 3.95, where a float has nothing between.
[[gnu::always_inline]] inline double d_erf(double x) {
  const double clamped = x < -3.95 ? -3.95 : (x > 3.95 ? 3.95 : x);
  const double p =
      d_polynomial(clamped * clamped, -2.88029091734287244e-22, 4.89640738084540638e-20,
                   -3.92184816344472792e-18, 1.97433983548702007e-16, -7.03993318908187655e-15,
                   1.90293196730910345e-13, -4.08360628953326092e-12, 7.20871104288555551e-11,
                   -1.07785543885436208e-09, 1.39805456946056793e-08, -1.60089642388820281e-07,
                   1.63424762969932103e-06, -1.48951735718982760e-05, 1.20496010805036830e-04,
                   -8.54756211412983501e-04, 5.22390920834204815e-03, -2.68661330335562554e-02,
                   1.12837905715781020e-01, -3.76126387749920021e-01, 1.12837916707054453e+00);
  const double value = clamped * p;
  return std::fabs(x) < 3.95 ? value : std::copysign(1.0, x) + (x - x) * 0.0;
}
/// t exp(-x^2 + P(t)), t = 2 / (2 + |x|).
[[gnu::always_inline]] inline double d_erfc(double x) {
  const double magnitude = std::fabs(x);
  const double far = magnitude > 11.0 ? 11.0 : magnitude;
  const double t = 2.0 / (2.0 + far);
  const double p =
      d_polynomial(t, -3.69901894297556405e-02, 4.65941854665908539e-01, -2.33054144837196953e+00,
                   6.34842389219720982e+00, -1.05259712536369960e+01, 1.10520122921534476e+01,
                   -7.47292476390204996e+00, 3.51923422090390403e+00, -1.38183359192843080e+00,
                   2.15377368528237662e-01, 3.24991063237253935e-02, 3.80643916453970221e-01,
                   9.99629883176960776e-01, -1.26550128706737830e+00);
  const double value = t * d_exp(p - far * far);
  const double result = x < 0.0 ? 2.0 - value : value;
  return x == x ? result : x;
}
[[gnu::always_inline]] inline double d_atan(double x) {
  const double magnitude = std::fabs(x);
  const bool turned = magnitude > 1.0;
  const double t = turned ? 1.0 / magnitude : magnitude;
  const double p =
      t * d_polynomial(t * t, 4.19227860112728968e-04, -3.19542524073639436e-03,
                       1.14276332773755943e-02, -2.60059959776086196e-02, 4.36465894428166717e-02,
                       -6.02219638793743267e-02, 7.49526237809969575e-02, -9.04917909372057738e-02,
                       1.11053067324244636e-01, -1.42852256081602097e-01, 1.99999783362170835e-01,
                       -3.33333329516572185e-01, 9.99999999988738120e-01);
  return std::copysign(turned ? std::numbers::pi / 2 - p : p, x);
}
/// Of y over x, in [-pi, pi], signed zeros and infinities as in C.
[[gnu::always_inline]] inline double d_atan2(double y, double x) {
  const double a = std::fabs(y), b = std::fabs(x);
  const double larger = a > b ? a : b, smaller = a > b ? b : a;
  // 0 / 0 counts as 0 and infinity / infinity as 1.
  const double quotient = larger == smaller ? (larger == 0.0 ? 0.0 : 1.0) : smaller / larger;
  const double slope = d_atan(quotient);
  const double first = a > b ? std::numbers::pi / 2 - slope : slope;
  const double angle = std::signbit(x) ? std::numbers::pi - first : first;
  return static_cast<bool>((x != x) | (y != y)) ? x + y : std::copysign(angle, y);
}
/// asin(t) of t in [0, 1/2].
[[gnu::always_inline]] inline double d_asin_small(double t) {
  return t * d_polynomial(t * t, 3.47484248080838984e-02, 7.40100723907537953e-03,
                          2.46508626606040879e-02, 3.01025068996614888e-02, 4.46611393086689609e-02,
                          7.49994190875471894e-02, 1.66666673641864466e-01,
                          9.99999999986353694e-01);
}
[[gnu::always_inline]] inline double d_asin(double x) {
  const double magnitude = std::fabs(x);
  const bool far = magnitude > 0.5;
  const double p = d_asin_small(far ? std::sqrt((1.0 - magnitude) * 0.5) : magnitude);
  return std::copysign(far ? std::numbers::pi / 2 - 2.0 * p : p, x);
}
[[gnu::always_inline]] inline double d_acos(double x) {
  const double magnitude = std::fabs(x);
  const bool far = magnitude > 0.5;
  const double p = d_asin_small(far ? std::sqrt((1.0 - magnitude) * 0.5) : magnitude);
  const double near_zero = std::numbers::pi / 2 - std::copysign(p, x);
  const double near_one = x < 0.0 ? std::numbers::pi - 2.0 * p : 2.0 * p;
  return far ? near_one : near_zero;
}
[[gnu::always_inline]] inline double d_sinh(double x) {
  const double magnitude = std::fabs(x);
  const double z = x * x;
  const double small = std::fma(
      x * z,
      d_polynomial(z, 2.54567065715238211e-08, 2.75537702636414900e-06, 1.98412825301159902e-04,
                   8.33333331746436215e-03, 1.66666666666984070e-01),
      x);
  const double e = d_exp(magnitude);
  return magnitude < 1.0 ? small : std::copysign(0.5 * (e - 1.0 / e), x);
}
[[gnu::always_inline]] inline double d_cosh(double x) {
  const double e = d_exp(std::fabs(x));
  return 0.5 * (e + 1.0 / e);
}
[[gnu::always_inline]] inline double d_asinh(double x) {
  const double magnitude = std::fabs(x);
  const double small = x * std::fma(x * x, -1.0 / 6.0, 1.0);
  const double far = d_log(magnitude + std::sqrt(std::fma(x, x, 1.0)));
  return magnitude < 1e-4 ? small : std::copysign(far, x);
}
[[gnu::always_inline]] inline double d_acosh(double x) {
  const double result = d_log(x + std::sqrt(std::fma(x, x, -1.0)));
  return x < 1.0 ? std::numeric_limits<double>::quiet_NaN() : result;
}
[[gnu::always_inline]] inline double d_atanh(double x) {
  const double small = x * std::fma(x * x, 1.0 / 3.0, 1.0);
  const double far = 0.5 * d_log((1.0 + x) / (1.0 - x));
  return std::fabs(x) < 1e-4 ? small : far;
}
[[gnu::always_inline]] inline double d_log10(double x) {
  return d_log(x) * (1.0 / std::numbers::ln10);
}
/// Whole for f32: e^(log(0) / 3) and of infinity are beyond its numbers.
[[gnu::always_inline]] inline double d_cbrt(double x) {
  const double root = d_exp(d_log_of_positive(std::fabs(x)) * (1.0 / 3.0));
  return x == x ? std::copysign(root, x) : x;
}
/// As in C: exact 1 for x of 1 or y of 0, signs of whole y.
[[gnu::always_inline]] inline double d_pow(double x, double y) {
  constexpr double kHuge = 1e300;  // an infinite y times log(1) would be NaN
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double magnitude = std::fabs(x);
  const double exponent = y < -kHuge ? -kHuge : (y > kHuge ? kHuge : y);
  const double power = d_exp(exponent * d_log_of_positive(magnitude));
  const double of_zero = y < 0.0 ? kInfinity : 0.0;
  const double of_infinity = y < 0.0 ? 0.0 : kInfinity;
  const double above = magnitude == kInfinity ? of_infinity : power;
  const double absolute = magnitude == 0.0 ? of_zero : above;
  const bool whole = y == std::floor(y);
  const bool odd = static_cast<bool>(whole & (0.5 * y != std::floor(0.5 * y)));
  const double turned = std::copysign(absolute, odd ? x : 1.0);
  const bool lost = static_cast<bool>(((x < 0.0) & !whole & (x - x == 0.0)) | (x != x) | (y != y));
  const double value = lost ? std::numeric_limits<double>::quiet_NaN() : turned;
  return static_cast<bool>((x == 1.0) | (y == 0.0)) ? 1.0 : value;
}

}  // namespace remora::cpu
