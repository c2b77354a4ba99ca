// What attribute structs are made of: scalars, and fields that are `key` or `param`. attrs.h has
// the structs themselves. Plain values and constants.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace remora {

/// One number, integer or floating. Integers keep all 64 bits.
class Scalar {
 public:
  Scalar() = default;
  Scalar(bool value)
      : Scalar(static_cast<int64_t>(value)) {}                // NOLINT(google-explicit-constructor)
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Scalar(int64_t value)                                       // NOLINT(google-explicit-constructor)
      : bits_(static_cast<uint64_t>(value)) {}
  Scalar(double value)  // NOLINT(google-explicit-constructor)
      : is_float_(true), bits_(std::bit_cast<uint64_t>(value)) {}
  static Scalar from_bits(bool is_float, uint64_t bits) {
    Scalar scalar;
    scalar.is_float_ = is_float;
    scalar.bits_ = bits;
    return scalar;
  }

  bool is_float() const { return is_float_; }
  uint64_t bits() const { return bits_; }
  double as_double() const {
    return is_float_ ? std::bit_cast<double>(bits_) : static_cast<double>(as_integer_bits());
  }
  /// The integer; a floating value truncates and saturates, NaN gives 0.
  int64_t as_int64() const;
  bool operator==(const Scalar&) const = default;

 private:
  int64_t as_integer_bits() const { return static_cast<int64_t>(bits_); }
  bool is_float_ = false;
  uint64_t bits_ = 0;
};

namespace dispatch {

enum class FieldKind : uint8_t { kKey, kParam };

/// One attribute field: its name, where it lives in `Struct`, and whether it is part of the key.
template <typename Struct, typename T>
struct Field {
  std::string_view name;
  T Struct::*member;
  FieldKind kind;
};

template <typename Struct, typename T>
constexpr Field<Struct, T> key(std::string_view name, T Struct::*member) {
  return {name, member, FieldKind::kKey};
}
template <typename Struct, typename T>
constexpr Field<Struct, T> param(std::string_view name, T Struct::*member) {
  return {name, member, FieldKind::kParam};
}

}  // namespace dispatch
}  // namespace remora
