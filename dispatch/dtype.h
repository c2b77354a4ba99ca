// Element types of tensors. The list itself is dtypes.def; this header gives it an enum, names and
// the promotion rules. Everything here is a pure function: any thread may call it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace remora {

/// An element type. The numeric value is the permanent wire number.
enum class DType : uint8_t {
#define DTYPE(number, enumerator, name, storage, category) enumerator = (number),
#include "dispatch/dtypes.def"
#undef DTYPE
};

/// Promotion rank: a boolean promotes to any integer, any integer to any float.
enum class DTypeCategory : uint8_t { kBoolean, kSigned, kUnsigned, kFloat };

/// True if `number` is the wire number of a known element type.
bool is_known_dtype(uint8_t number);

/// Lower-case text name: "f32", "i64", "bool".
std::string_view dtype_name(DType dtype);

/// The element type of that text name, if there is one.
std::optional<DType> dtype_from_name(std::string_view name);

/// Bytes of one element.
int64_t dtype_size(DType dtype);

DTypeCategory dtype_category(DType dtype);
/// bool 0 < integer 1 < float 2: signed and unsigned integers are one rank.
int promotion_rank(DTypeCategory category);
inline bool is_float(DType dtype) { return dtype_category(dtype) == DTypeCategory::kFloat; }
inline bool is_integer(DType dtype) {
  return dtype_category(dtype) == DTypeCategory::kSigned ||
         dtype_category(dtype) == DTypeCategory::kUnsigned;
}
/// True for the floats that are stored in 16 bits and computed in f32 (float16.h).
inline bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

/// The common element type of two tensors, or none where there is no answer (i64 with u64).
/// Inside a category the wider wins; f16 with bf16 gives f32; a signed type with an unsigned one
/// gives the narrowest signed type that holds both.
std::optional<DType> promote(DType a, DType b);

/// Compile-time map from a C++ element type to its DType (bool, int64_t, float, ...).
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType kValue = DType::kI8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType kValue = DType::kI16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kI32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kI64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType kValue = DType::kU8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType kValue = DType::kU16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType kValue = DType::kU32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType kValue = DType::kU64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kF64;
};

}  // namespace remora
