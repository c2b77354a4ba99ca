// Quotients and remainders, of floats and integers.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/expr_prelude/cpu.h"

namespace remora::cpu {

inline float r_fmod(float x, float y) { return std::fmod(x, y); }
inline double r_fmod(double x, double y) { return std::fmod(x, y); }
/// Of integers, a divisor of 0 gives 0 here and the kernel reports it; -1 is kept from the
/// processor, which traps where the quotient overflows.
template <typename T>
inline Wrapping<T> r_fmod(Wrapping<T> x, Wrapping<T> y) {
  const auto divisor = static_cast<T>(y);
  if (divisor == 0 || (std::is_signed_v<T> && divisor == static_cast<T>(-1))) {
    return Wrapping<T>(0);
  }
  return Wrapping<T>(static_cast<int64_t>(static_cast<T>(x) % divisor));
}

/// As in Python: the sign of y, a remainder of 0 included.
template <typename T>
inline T r_remainder(T x, T y) {
  const T rest = r_fmod(x, y);
  if (rest == T(0)) return std::copysign(rest, y);
  return (rest < T(0)) != (y < T(0)) ? rest + y : rest;
}
template <typename T>
inline Wrapping<T> r_remainder(Wrapping<T> x, Wrapping<T> y) {
  constexpr Wrapping<T> kZero(0);
  const Wrapping<T> rest = r_fmod(x, y);
  return rest != kZero && (rest < kZero) != (y < kZero) ? rest + y : rest;
}

/// The largest integer not above x / y. From the exact remainder: x / y itself may round up to an
/// integer that is above the quotient. By 0: x / 0.
template <typename T>
inline T r_floor_divide(T x, T y) {
  if (y == T(0)) return x / y;
  const T rest = r_fmod(x, y);
  const T exact = (x - rest) / y;
  const T quotient = rest != T(0) && (rest < T(0)) != (y < T(0)) ? exact - T(1) : exact;
  if (quotient == T(0)) return std::copysign(T(0), x / y);
  const T below = r_floor(quotient);
  return quotient - below > T(0.5) ? below + T(1) : below;
}
template <typename T>
inline Wrapping<T> r_floor_divide(Wrapping<T> x, Wrapping<T> y) {
  constexpr Wrapping<T> kZero(0);
  const auto divisor = static_cast<T>(y);
  if (divisor == 0) return kZero;
  if (std::is_signed_v<T> && divisor == static_cast<T>(-1)) return -x;
  const Wrapping<T> quotient(static_cast<int64_t>(static_cast<T>(x) / divisor));
  const Wrapping<T> rest = r_fmod(x, y);
  return rest != kZero && (rest < kZero) != (y < kZero) ? quotient - Wrapping<T>(1) : quotient;
}

}  // namespace remora::cpu
