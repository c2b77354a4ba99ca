// The functions that the catalogue's elementwise expressions call, for C++. The f32 functions made
// of polynomials are written with explicit fma, so every language with an exact fma gives the same
// bits; they have no branches, so that compilers vectorise them. What is computed in double
// (cpu_double.h) and rounded once is correctly rounded but for rare ties. f64 functions that are
// not there are the C library's. Integers are `Wrapping`, whose arithmetic wraps; booleans are 0 or
// 1 in a uint8_t.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/expr_prelude/cpu_in_double.h"
#include "kernels/expr_prelude/cpu_wrapping.h"

namespace remora::cpu {

inline float r_abs(float x) { return std::fabs(x); }
inline double r_abs(double x) { return std::fabs(x); }
template <typename T>
inline Wrapping<T> r_abs(Wrapping<T> x) {
  return x < Wrapping<T>(0) ? -x : x;
}

inline float r_sqrt(float x) { return std::sqrt(x); }
inline double r_sqrt(double x) { return std::sqrt(x); }
inline float r_floor(float x) { return std::floor(x); }
inline double r_floor(double x) { return std::floor(x); }

/// NaN propagates. No short circuit: it would keep loops from being vectorised.
template <typename T>
inline T r_max(T x, T y) {
  return static_cast<bool>((x > y) | (x != x)) ? x : y;
}
template <typename T>
inline T r_min(T x, T y) {
  return static_cast<bool>((x < y) | (x != x)) ? x : y;
}

/// Within 1 ULP, denormal results included. Coefficients: Cephes expf.
inline float r_exp(float x) {
  const float clamped = x < -104.0f ? -104.0f : (x > 89.0f ? 89.0f : x);
  // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low mantissa bits.
  const float shifted = std::fma(clamped, 1.44269504f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  float r = std::fma(n, -0.693359375f, clamped);
  r = std::fma(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = std::fma(p, r, 1.3981999507e-3f);
  p = std::fma(p, r, 8.3334519073e-3f);
  p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f);
  p = std::fma(p, r, 5.0000001201e-1f);
  p = std::fma(p, r * r, r) + 1.0f;
  // 2^n in two factors, because n can be outside a float's exponents.
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - 0x4B400000u;
  const auto half = static_cast<uint32_t>(static_cast<int32_t>(exponent) >> 1);
  const float scale1 = std::bit_cast<float>((half + 127u) << 23);
  const float scale2 = std::bit_cast<float>((exponent - half + 127u) << 23);
  return p * scale1 * scale2;
}
inline double r_exp(double x) { return d_exp(x); }

/// Within 1 ULP. Coefficients: Cephes logf.
inline float r_log(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool tiny = x < std::numeric_limits<float>::min();
  const float scaled = tiny ? x * 8388608.0f : x;
  // The mantissa in [sqrt(1/2), sqrt(2)) and the exponent that goes with it.
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
  p = p * m * square;
  p = std::fma(exponent, -2.12194440e-4f, p);
  p = std::fma(square, -0.5f, p);
  const float result = std::fma(exponent, 0.693359375f, m + p);
  const float positive = x == kInfinity ? x : result;
  const float finite = x == 0.0f ? -kInfinity : positive;
  return static_cast<bool>((x < 0.0f) | (x != x)) ? std::numeric_limits<float>::quiet_NaN()
                                                  : finite;
}
inline double r_log(double x) { return d_log(x); }

/// sin(x + quarters * pi/2): Cody-Waite reduction in three parts, then a polynomial on [-pi/4,
/// pi/4]. Coefficients: Cephes sinf and cosf. Requires |x| < 50000.
inline float r_sin_reduced(float x, uint32_t quarters) {
  const float shifted = std::fma(x, 0.636619772f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  float r = std::fma(n, -1.57079601e+00f, x);
  r = std::fma(n, -3.13916473e-07f, r);
  r = std::fma(n, -5.39030253e-15f, r);
  const float z = r * r;
  float s = -1.9515295891e-4f;
  s = std::fma(s, z, 8.3321608736e-3f);
  s = std::fma(s, z, -1.6666654611e-1f);
  s = std::copysign(std::fma(s * z, r, r), r);  // the sum alone loses the sign of -0
  float c = 2.443315711809948e-5f;
  c = std::fma(c, z, -1.388731625493765e-3f);
  c = std::fma(c, z, 4.166664568298827e-2f);
  c = std::fma(c * z, z, std::fma(z, -0.5f, 1.0f));
  const uint32_t quadrant = std::bit_cast<uint32_t>(shifted) - 0x4B400000u + quarters;
  const float value = (quadrant & 1u) != 0 ? c : s;
  return (quadrant & 2u) != 0 ? -value : value;
}

/// An angle that needs no library to be reduced. Loops over rows of such angles are vectorised; the
/// functions of any number give the same bits.
template <typename T>
struct Angle {
  static constexpr T kLimit = T(50000);
  T value;
  static constexpr bool holds(T x) { return (x < T(0) ? -x : x) < kLimit; }
};
inline float r_sin(Angle<float> x) { return r_sin_reduced(x.value, 0); }
inline float r_cos(Angle<float> x) { return r_sin_reduced(x.value, 1); }
inline double r_sin(Angle<double> x) { return d_sin(x.value, 0); }
inline double r_cos(Angle<double> x) { return d_sin(x.value, 1); }
inline float r_tan(Angle<float> x) {
  const auto angle = static_cast<double>(x.value);
  return static_cast<float>(d_sin(angle, 0) / d_sin(angle, 1));
}
inline double r_tan(Angle<double> x) { return std::tan(x.value); }

// Of any number: the C library's beyond the limit.
#define REMORA_OF_ANGLE(name)                                                   \
  inline double r_##name(double x) {                                            \
    return Angle<double>::holds(x) ? r_##name(Angle<double>{x}) : std::name(x); \
  }                                                                             \
  inline float r_##name(float x) {                                              \
    if (Angle<float>::holds(x)) return r_##name(Angle<float>{x});               \
    return static_cast<float>(std::name(static_cast<double>(x)));               \
  }
REMORA_OF_ANGLE(sin)
REMORA_OF_ANGLE(cos)
REMORA_OF_ANGLE(tan)
#undef REMORA_OF_ANGLE

/// Within 2 ULP. Coefficients: Cephes tanhf.
inline float r_tanh(float x) {
  const float magnitude = std::fabs(x);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = std::fma(p, z, 2.06390887954e-2f);
  p = std::fma(p, z, -5.37397155531e-2f);
  p = std::fma(p, z, 1.33314422036e-1f);
  p = std::fma(p, z, -3.33332819422e-1f);
  const float near_zero = std::fma(p * z, x, x);
  const float far = 1.0f - 2.0f / (r_exp(magnitude + magnitude) + 1.0f);
  return std::copysign(magnitude < 0.625f ? near_zero : far, x);
}
inline double r_tanh(double x) { return d_tanh(x); }

inline float r_erf(float x) { return static_cast<float>(d_erf(static_cast<double>(x))); }
inline double r_erf(double x) { return std::erf(x); }
inline float r_log1p(float x) { return static_cast<float>(d_log1p(static_cast<double>(x))); }
inline double r_log1p(double x) { return std::log1p(x); }
inline float r_expm1(float x) { return static_cast<float>(d_expm1(static_cast<double>(x))); }
inline double r_expm1(double x) { return std::expm1(x); }

inline float r_cbrt(float x) { return static_cast<float>(d_cbrt(static_cast<double>(x))); }
inline double r_cbrt(double x) { return std::cbrt(x); }

inline float r_pow(float x, float y) {
  return static_cast<float>(d_pow(static_cast<double>(x), static_cast<double>(y)));
}
inline double r_pow(double x, double y) { return std::pow(x, y); }
/// A negative exponent gives the exact power truncated to an integer: 0 but for bases 1 and -1.
template <typename T>
inline Wrapping<T> r_pow(Wrapping<T> x, Wrapping<T> y) {
  using Bits = std::make_unsigned_t<T>;
  constexpr Wrapping<T> kOne(1);
  if (y < Wrapping<T>(0)) {
    if (x == kOne) return x;
    if (x == -kOne) return static_cast<T>(y) % 2 == 0 ? kOne : x;
    return Wrapping<T>(0);
  }
  Wrapping<T> result(1);
  Wrapping<T> base = x;
  for (auto exponent = static_cast<Bits>(static_cast<T>(y)); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * base;
    base = base * base;
  }
  return result;
}

}  // namespace remora::cpu
