// The two 16-bit floating-point formats: IEEE 754 binary16 (f16) and bfloat16 (bf16), as bits.
// Nothing computes in them; they are widened to f32 or f64, and results are rounded back, to
// nearest even. Without branches, so that loops over them are vectorised. Pure functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace remora {

/// Exact. A NaN stays a NaN, of the same sign and payload.
inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
  // As an f32 the bits are 2^112 too small, denormals included; infinity and NaN keep the largest
  // exponent instead.
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  return std::bit_cast<float>(sign | (magnitude >= 0x0F800000u ? magnitude | 0x7F800000u : finite));
}

/// Rounds to nearest even; above 65504 to infinity from the midpoint on.
inline uint16_t f32_to_f16(float value) {
  // Adding a power of two 2^13 units of f32 above the last place of the result makes the addition
  // round there (after Dukhan's FP16 library).
  const float scaled = (std::fabs(value) * 0x1p112f) * 0x1p-110f;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t doubled = bits + bits;
  const uint32_t exponent = doubled & 0xFF000000u;
  const uint32_t bias = exponent < 0x71000000u ? 0x71000000u : exponent;
  const uint32_t sum =
      std::bit_cast<uint32_t>(std::bit_cast<float>((bias >> 1) + 0x07800000u) + scaled);
  const uint32_t magnitude = ((sum >> 13) & 0x7C00u) + (sum & 0x0FFFu);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  return static_cast<uint16_t>(sign | (doubled > 0xFF000000u ? 0x7E00u : magnitude));
}

/// Exact.
inline float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest even.
inline uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = ((bits >> 16) & 0x8000u) | 0x7FC0u;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
}

/// The f32 next to `value` whose last bit says whether it is inexact ("round to odd"): rounding it
/// once more, to f16 or bf16, gives what rounding `value` itself would.
inline float f64_to_odd_f32(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  bits -= std::fabs(back) > std::fabs(value) ? 1u : 0u;
  // NaN is neither equal nor different here: it stays what it is.
  bits |= static_cast<bool>((back < value) | (back > value)) ? 1u : 0u;
  return std::bit_cast<float>(bits);
}
inline uint16_t f64_to_f16(double value) { return f32_to_f16(f64_to_odd_f32(value)); }
inline uint16_t f64_to_bf16(double value) { return f32_to_bf16(f64_to_odd_f32(value)); }

}  // namespace remora
