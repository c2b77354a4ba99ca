// The prelude's functions of bits and divisors, for C++. Integers are handled as 64 bits, whatever
// the width they are stored in.
#pragma once

#include <cstdint>

#include "kernels/expr_prelude/cpu.h"

namespace remora::cpu {

template <typename T>
inline uint64_t bits_of(T x) {
  return static_cast<uint64_t>(static_cast<int64_t>(x));
}
/// The same of an integer class over T.
template <template <typename> typename Integer, typename T>
inline uint64_t bits_of(Integer<T> x) {
  return static_cast<uint64_t>(static_cast<T>(x));
}
template <typename T>
inline uint64_t magnitude_of(T x) {
  return x < T(0) ? 0 - bits_of(x) : bits_of(x);
}
template <typename T>
inline T from_bits(uint64_t bits) {
  return T(static_cast<int64_t>(bits));
}
template <typename T>
inline T r_bitwise_not(T x) {
  return from_bits<T>(~bits_of(x));
}
template <typename T>
inline T r_bitwise_and(T x, T y) {
  return from_bits<T>(bits_of(x) & bits_of(y));
}
template <typename T>
inline T r_bitwise_or(T x, T y) {
  return from_bits<T>(bits_of(x) | bits_of(y));
}
template <typename T>
inline T r_bitwise_xor(T x, T y) {
  return from_bits<T>(bits_of(x) ^ bits_of(y));
}
template <typename T>
inline T r_left_shift(T x, T y) {
  const uint64_t count = bits_of(y);
  return count < 64 ? from_bits<T>(bits_of(x) << count) : T(0);
}
template <typename T>
inline T r_right_shift(T x, T y) {
  const uint64_t count = bits_of(y);
  const uint64_t sign = x < T(0) ? ~uint64_t{0} : 0;
  return from_bits<T>(count < 64 ? ((bits_of(x) ^ sign) >> count) ^ sign : sign);
}
template <typename T>
inline T r_gcd(T x, T y) {
  uint64_t a = magnitude_of(x);
  uint64_t b = magnitude_of(y);
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return from_bits<T>(a);
}
template <typename T>
inline T r_lcm(T x, T y) {
  const uint64_t divisor = magnitude_of(r_gcd(x, y));
  if (divisor == 0) return T(0);
  return r_abs(from_bits<T>(magnitude_of(x) / divisor * magnitude_of(y)));
}

}  // namespace remora::cpu
