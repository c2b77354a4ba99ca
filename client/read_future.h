// ReadFuture: a tensor's bytes on their way to the host. Asking never waits; looking at the result
// does.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "dispatch/attrs.h"
#include "dispatch/buffer.h"
#include "dispatch/value.h"

namespace remora {

/// The element at `index`, as a number.
Scalar element_as_scalar(const dispatch::HostData& data, int64_t index);

/// A double, int64_t or uint64_t as a T. Integers truncate and saturate at T's limits, NaN gives 0,
/// as in astype; a bool is true unless the number is 0.
template <typename T, typename Number>
T number_as(Number number) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return number != Number{0};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else if constexpr (std::is_floating_point_v<Number>) {
    // One above the largest T: a power of two, so exact where the largest T itself may not be.
    constexpr Number kAbove = Number{2} * static_cast<Number>((Limits::max() >> 1) + 1);
    if (std::isnan(number)) return 0;
    if (number >= kAbove) return Limits::max();
    return number <= static_cast<Number>(Limits::min()) ? Limits::min() : static_cast<T>(number);
  } else {
    if constexpr (std::is_signed_v<Number>) {
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): an i8 is a number, not a character
      const auto lowest = static_cast<int64_t>(Limits::min());
      if (number < 0) return number < lowest ? Limits::min() : static_cast<T>(number);
    }
    const bool above = static_cast<uint64_t>(number) > static_cast<uint64_t>(Limits::max());
    return above ? Limits::max() : static_cast<T>(number);
  }
}

/// Copies share one result. Any thread may wait on it; a result that nobody waits for is dropped.
class ReadFuture {
 public:
  /// Reads `value`, which must not be empty.
  explicit ReadFuture(dispatch::Value value);
  /// Reads several values at once.
  static std::vector<ReadFuture> of_all(std::span<const dispatch::Value> values);

  /// True if `get` would not wait.
  bool ready() const;
  /// Waits for the bytes. Throws what made the computation fail, UNAVAILABLE when the worker is
  /// gone, or CANCELLED when the process ends first.
  const dispatch::HostData& get() const;
  /// The only element, converted as number_as does. INVALID_ARGUMENT unless there is exactly one.
  template <typename T>
  T item() const {
    static_assert(std::is_arithmetic_v<T>);
    const Scalar scalar = single_element();
    if (scalar.is_float()) return number_as<T>(scalar.as_double());
    if (get().spec.dtype == DType::kU64) return number_as<T>(scalar.bits());
    return number_as<T>(scalar.as_int64());
  }
  /// All elements, row-major. INVALID_ARGUMENT unless T is their type; f16 and bf16, which C++ has
  /// no type for, are read as float.
  template <typename T>
  std::vector<T> to_vector() const {
    const dispatch::HostData& data = get();
    if constexpr (std::is_same_v<T, float>) {
      if (data.spec.dtype == DType::kF16 || data.spec.dtype == DType::kBF16) return widened();
    }
    check_element_type(DTypeOf<T>::kValue);
    const T* first = reinterpret_cast<const T*>(data.bytes.get());
    return std::vector<T>(first, first + data.spec.numel());
  }

 private:
  struct State;
  explicit ReadFuture(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Scalar single_element() const;
  void check_element_type(DType wanted) const;
  std::vector<float> widened() const;

  std::shared_ptr<State> state_;
};

}  // namespace remora
