// Functions of double for f32 rows, which round their results once: within 1e-9 of the value, which
// gives the right float but for rare ties. Without branches or library calls, as cpu_double.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "kernels/expr_prelude/cpu_double.h"

namespace remora::cpu {

[[gnu::always_inline]] inline double d_expm1(double x) {
  return std::fabs(x) < 1e-5 ? x * std::fma(0.5, x, 1.0) : d_exp(x) - 1.0;
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
  const double one = x == x ? std::copysign(1.0, x) : x;
  return std::fabs(x) < 3.95 ? value : one;
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
/// atan(t) of t in [0, 1].
[[gnu::always_inline]] inline double d_atan_small(double t) {
  return t *
         d_polynomial(t * t, 4.19227860112728968e-04, -3.19542524073639436e-03,
                      1.14276332773755943e-02, -2.60059959776086196e-02, 4.36465894428166717e-02,
                      -6.02219638793743267e-02, 7.49526237809969575e-02, -9.04917909372057738e-02,
                      1.11053067324244636e-01, -1.42852256081602097e-01, 1.99999783362170835e-01,
                      -3.33333329516572185e-01, 9.99999999988738120e-01);
}
[[gnu::always_inline]] inline double d_atan(double x) {
  const double magnitude = std::fabs(x);
  const bool turned = magnitude > 1.0;
  const double p = d_atan_small(turned ? 1.0 / magnitude : magnitude);
  return std::copysign(turned ? std::numbers::pi / 2 - p : p, x);
}
/// Of y over x, in [-pi, pi], signed zeros and infinities as in C.
[[gnu::always_inline]] inline double d_atan2(double y, double x) {
  const double a = std::fabs(y), b = std::fabs(x);
  const bool steep = a > b;
  const double larger = steep ? a : b, smaller = steep ? b : a;
  // 0 / 0 counts as 0 and infinity / infinity as 1.
  const double ratio = smaller / larger;
  const double of_equals = larger == larger ? (larger > 0.0 ? 1.0 : 0.0) : larger;
  const double slope = d_atan_small(smaller == larger ? of_equals : ratio);
  const double first = steep ? std::numbers::pi / 2 - slope : slope;
  const bool behind = (std::bit_cast<uint64_t>(x) >> 63) != 0;
  const double angle = behind ? std::numbers::pi - first : first;
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
