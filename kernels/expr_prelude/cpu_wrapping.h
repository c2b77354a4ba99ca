// Integers as the catalogue's expressions compute them.
#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>

namespace remora::cpu {

/// An integer of type T whose arithmetic wraps to T, without the promotion to int of C++.
template <typename T>
class Wrapping {
 public:
  constexpr explicit Wrapping(int64_t value) : value_(static_cast<T>(value)) {}
  constexpr explicit operator T() const { return value_; }

  constexpr Wrapping operator-() const { return from(0u - bits()); }
  constexpr Wrapping operator+(Wrapping y) const { return from(bits() + y.bits()); }
  constexpr Wrapping operator-(Wrapping y) const { return from(bits() - y.bits()); }
  constexpr Wrapping operator*(Wrapping y) const { return from(bits() * y.bits()); }
  constexpr auto operator<=>(const Wrapping&) const = default;

 private:
  // At least as wide as unsigned: two u16 multiplied as int would overflow.
  using Bits = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
  static constexpr Wrapping from(Bits bits) {
    Wrapping result(0);
    result.value_ = static_cast<T>(bits);
    return result;
  }
  constexpr Bits bits() const { return static_cast<Bits>(value_); }
  T value_;
};

}  // namespace remora::cpu
