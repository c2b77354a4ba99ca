// The C++ types of elements. Kernels are templates over them; f16 and bf16 are storage, so most
// kernels never see those two: blocks.h widens rows of them, in_f32.h whole tensors.
#pragma once

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "dispatch/dtype.h"
#include "dispatch/float16.h"
#include "kernels/expr_prelude/cpu.h"

namespace remora::cpu {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

/// How an element is stored and what it is computed in.
template <typename Stored>
struct Element {
  using Compute =
      std::conditional_t<std::is_floating_point_v<Stored>, Stored,
                         Wrapping<std::conditional_t<std::is_integral_v<Stored>, Stored, int>>>;
  static Compute load(Stored x) { return Compute(x); }
  static Stored store(Compute x) { return static_cast<Stored>(x); }
};
template <>
struct Element<bool> {
  using Compute = uint8_t;
  static uint8_t load(bool x) { return static_cast<uint8_t>(x); }
  static bool store(uint8_t x) { return x != 0; }
};
template <>
struct Element<F16> {
  using Compute = float;
  static float load(F16 x) { return f16_to_f32(x.bits); }
  static F16 store(float x) { return {f32_to_f16(x)}; }
};
template <>
struct Element<BF16> {
  using Compute = float;
  static float load(BF16 x) { return bf16_to_f32(x.bits); }
  static BF16 store(float x) { return {f32_to_bf16(x)}; }
};

/// Runs `run.template operator()<T>()` for the C++ type of an element type: bool, an integer,
/// F16, BF16, float or double.
template <typename Run>
absl::Status with_type(DType dtype, Run&& run) {
  switch (dtype) {
    case DType::kBool:
      return run.template operator()<bool>();
    case DType::kI8:
      return run.template operator()<int8_t>();
    case DType::kI16:
      return run.template operator()<int16_t>();
    case DType::kI32:
      return run.template operator()<int32_t>();
    case DType::kI64:
      return run.template operator()<int64_t>();
    case DType::kU8:
      return run.template operator()<uint8_t>();
    case DType::kU16:
      return run.template operator()<uint16_t>();
    case DType::kU32:
      return run.template operator()<uint32_t>();
    case DType::kU64:
      return run.template operator()<uint64_t>();
    case DType::kF16:
      return run.template operator()<F16>();
    case DType::kBF16:
      return run.template operator()<BF16>();
    case DType::kF32:
      return run.template operator()<float>();
    case DType::kF64:
      return run.template operator()<double>();
  }
  return absl::UnimplementedError("cpu: this element type has no kernels");
}

/// The same for an unsigned integer of the element's size: what moves bits, or adds and multiplies
/// integers that wrap, needs no more.
template <typename Run>
absl::Status with_bits(DType dtype, Run&& run) {
  switch (dtype_size(dtype)) {
    case 1:
      return run.template operator()<uint8_t>();
    case 2:
      return run.template operator()<uint16_t>();
    case 4:
      return run.template operator()<uint32_t>();
    default:
      return run.template operator()<uint64_t>();
  }
}

}  // namespace remora::cpu
