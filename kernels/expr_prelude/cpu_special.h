// The prelude's functions beyond the basic ones, for C++: inverse, hyperbolic and special
// functions. f32 functions that are not polynomials are computed in double
// and rounded once, so they are correctly rounded but for rare ties; f64 functions are the C
// library's, or within a few ULP (digamma near its zeros: of the terms of its sum).
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "kernels/expr_prelude/cpu.h"

namespace remora::cpu {

// The C library's function of double, and of float d_name, rounded once.
#define REMORA_THROUGH_DOUBLE(name)                         \
  inline double r_##name(double x) { return std::name(x); } \
  inline float r_##name(float x) { return static_cast<float>(d_##name(static_cast<double>(x))); }

REMORA_THROUGH_DOUBLE(asin)
REMORA_THROUGH_DOUBLE(acos)
REMORA_THROUGH_DOUBLE(atan)
REMORA_THROUGH_DOUBLE(sinh)
REMORA_THROUGH_DOUBLE(cosh)
REMORA_THROUGH_DOUBLE(asinh)
REMORA_THROUGH_DOUBLE(acosh)
REMORA_THROUGH_DOUBLE(atanh)
REMORA_THROUGH_DOUBLE(log10)
REMORA_THROUGH_DOUBLE(erfc)
#undef REMORA_THROUGH_DOUBLE

inline float r_ceil(float x) { return std::ceil(x); }
inline double r_ceil(double x) { return std::ceil(x); }
inline float r_trunc(float x) { return std::trunc(x); }
inline double r_trunc(double x) { return std::trunc(x); }
/// Half to even: the rounding mode is never changed.
inline float r_round(float x) { return std::nearbyint(x); }
inline double r_round(double x) { return std::nearbyint(x); }

/// Within 1 ULP, denormal results included; exact for integers. The polynomial is that of r_exp.
inline float r_exp2(float x) {
  const float clamped = x < -151.0f ? -151.0f : (x > 129.0f ? 129.0f : x);
  const float shifted = clamped + 12582912.0f;  // as in r_exp
  const float r = (clamped - (shifted - 12582912.0f)) * 0.693147181f;
  float p = 1.9875691500e-4f;
  p = std::fma(p, r, 1.3981999507e-3f);
  p = std::fma(p, r, 8.3334519073e-3f);
  p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f);
  p = std::fma(p, r, 5.0000001201e-1f);
  p = std::fma(p, r * r, r) + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - 0x4B400000u;
  const auto half = static_cast<uint32_t>(static_cast<int32_t>(exponent) >> 1);
  const float scale1 = std::bit_cast<float>((half + 127u) << 23);
  const float scale2 = std::bit_cast<float>((exponent - half + 127u) << 23);
  return p * scale1 * scale2;
}
inline double r_exp2(double x) { return std::exp2(x); }

/// Within 1 ULP; exact for powers of 2. The polynomial is that of r_log.
inline float r_log2(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool tiny = x < std::numeric_limits<float>::min();
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t bits = std::bit_cast<uint32_t>(scaled) - 0x3F3504F3u;
  const auto exponent =
      static_cast<float>(static_cast<int32_t>(bits) >> 23) - (tiny ? 23.0f : 0.0f);
  const float m = std::bit_cast<float>((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  const float square = m * m;
  float p = 7.0376836292e-2f;
  p = std::fma(p, m, -1.1514610310e-1f);
  p = std::fma(p, m, 1.1676998740e-1f);
  p = std::fma(p, m, -1.2420140846e-1f);
  p = std::fma(p, m, 1.4249322787e-1f);
  p = std::fma(p, m, -1.6668057665e-1f);
  p = std::fma(p, m, 2.0000714765e-1f);
  p = std::fma(p, m, -2.4999993993e-1f);
  p = std::fma(p, m, 3.3333331174e-1f);
  p = std::fma(p * m, square, square * -0.5f);
  // log2(e) in two parts: 1.4375 has few bits, so its products are nearly exact.
  float result = p * 5.19504089e-3f;
  result = std::fma(m, 5.19504089e-3f, result);
  result = std::fma(p, 1.4375f, result);
  result = std::fma(m, 1.4375f, result) + exponent;
  const float positive = x == kInfinity ? x : result;
  const float finite = x == 0.0f ? -kInfinity : positive;
  return static_cast<bool>((x < 0.0f) | (x != x)) ? std::numeric_limits<float>::quiet_NaN()
                                                  : finite;
}
inline double r_log2(double x) { return std::log2(x); }

/// A start by Giles ("Approximating the erfinv function", single precision), then two steps of
/// Newton's method on erf, or on erfc where erf is near 1.
inline double r_erfinv(double x) {
  const double a = std::fabs(x);
  if (!(a < 1.0)) {
    return a == 1.0 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                    : std::numeric_limits<double>::quiet_NaN();
  }
  double w = -std::log((1.0 - a) * (1.0 + a));
  double p = 0.0;
  if (w < 5.0) {
    w -= 2.5;
    for (const double c : {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                           0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941})
      p = std::fma(p, w, c);
  } else {
    w = std::sqrt(w) - 3.0;
    for (const double c : {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                           0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682})
      p = std::fma(p, w, c);
  }
  double y = p * a;
  for (int step = 0; step < 2; ++step) {
    const double error = a < 0.5 ? std::erf(y) - a : (1.0 - a) - std::erfc(y);
    y -= error / (2.0 * std::numbers::inv_sqrtpi * std::exp(-y * y));
  }
  return std::copysign(y, x);
}
inline float r_erfinv(float x) { return static_cast<float>(r_erfinv(static_cast<double>(x))); }

inline double r_lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global
}
inline float r_lgamma(float x) { return static_cast<float>(r_lgamma(static_cast<double>(x))); }

/// Reflection for negative x, recurrence up to 10, then the asymptotic series.
inline double r_digamma(double x) {
  if (x == 0.0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double result = 0.0;
  if (x < 0.0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    const double rest = x - std::nearbyint(x);  // tan has period pi
    result = -std::numbers::pi / std::tan(std::numbers::pi * rest);
    x = 1.0 - x;
  }
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  const double z = 1.0 / (x * x);
  double series = 0.0;  // Bernoulli numbers B(2k) / 2k, k from 7 to 1
  for (const double c : {1.0 / 12.0, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0,
                         -1.0 / 120.0, 1.0 / 12.0})
    series = std::fma(series, z, c);
  return result + std::log(x) - 0.5 / x - z * series;
}
inline float r_digamma(float x) { return static_cast<float>(r_digamma(static_cast<double>(x))); }

inline double r_atan2(double y, double x) { return std::atan2(y, x); }
inline float r_atan2(float y, float x) {
  return static_cast<float>(d_atan2(static_cast<double>(y), static_cast<double>(x)));
}
inline float r_copysign(float x, float y) { return std::copysign(x, y); }
inline double r_copysign(double x, double y) { return std::copysign(x, y); }
inline double r_hypot(double x, double y) { return std::hypot(x, y); }
/// The squares of floats fit a double.
inline float r_hypot(float x, float y) {
  const double a = std::fabs(static_cast<double>(x));
  const double b = std::fabs(static_cast<double>(y));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double root = std::sqrt(a * a + b * b);
  return static_cast<float>(static_cast<bool>((a == kInfinity) | (b == kInfinity)) ? kInfinity
                                                                                   : root);
}
template <typename T>
inline T r_fmax(T x, T y) {
  return static_cast<bool>((x > y) | (y != y)) ? x : y;
}
template <typename T>
inline T r_fmin(T x, T y) {
  return static_cast<bool>((x < y) | (y != y)) ? x : y;
}
inline double r_logaddexp(double x, double y) {
  const double larger = r_max(x, y);
  if (x == y) return x + std::numbers::ln2;  // infinities have no difference
  return larger + std::log1p(std::exp(-std::fabs(x - y)));
}
inline float r_logaddexp(float x, float y) {
  return static_cast<float>(r_logaddexp(static_cast<double>(x), static_cast<double>(y)));
}
inline float r_xlogy(float x, float y) {
  return static_cast<bool>((x == 0.0f) & (y == y)) ? 0.0f : x * r_log(y);
}
inline double r_xlogy(double x, double y) {
  return static_cast<bool>((x == 0.0) & (y == y)) ? 0.0 : x * std::log(y);
}

}  // namespace remora::cpu
