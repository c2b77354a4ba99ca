// ReadFuture: a tensor's bytes on their way to the host. Asking never waits; looking at the result
// does.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "dispatch/attrs.h"
#include "dispatch/buffer.h"
#include "dispatch/value.h"

namespace remora {

/// The element at `index`, as a number.
Scalar element_as_scalar(const dispatch::HostData& data, int64_t index);

/// Copies share one result. Any thread may wait on it; a result that nobody waits for is dropped.
class ReadFuture {
 public:
  /// Reads `value`, which must not be empty.
  explicit ReadFuture(dispatch::Value value);

  /// True if `get` would not wait.
  bool ready() const;
  /// Waits for the bytes. Throws what made the computation fail, or UNAVAILABLE when the worker is
  /// gone.
  const dispatch::HostData& get() const;
  /// The only element, converted to T. INVALID_ARGUMENT unless there is exactly one.
  template <typename T>
  T item() const {
    static_assert(std::is_arithmetic_v<T>);
    const Scalar scalar = single_element();
    if (std::is_integral_v<T> || !scalar.is_float()) return static_cast<T>(scalar.as_int64());
    return static_cast<T>(scalar.as_double());
  }
  /// All elements, row-major. INVALID_ARGUMENT unless T is their type.
  template <typename T>
  std::vector<T> to_vector() const {
    const dispatch::HostData& data = get();
    check_element_type(DTypeOf<T>::kValue);
    const T* first = reinterpret_cast<const T*>(data.bytes.get());
    return std::vector<T>(first, first + data.spec.numel());
  }

 private:
  struct State;
  Scalar single_element() const;
  void check_element_type(DType wanted) const;

  std::shared_ptr<State> state_;
};

}  // namespace remora
