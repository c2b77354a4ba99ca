// Argument: a value whose type is known only at run time, as in Python or in a file of calls.
// Dynamic calls of the public functions take and return them. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "client/tensor.h"

namespace remora::bindings {

/// Nothing (`none`), a boolean, a number, text, an element type, a device, a tensor, or a list of
/// these.
struct Argument {
  using List = std::vector<Argument>;
  using Value =
      std::variant<std::monostate, bool, int64_t, double, std::string, DType, Device, Tensor, List>;

  Argument() = default;
  template <typename T>
  requires std::is_constructible_v<Value, T&&> &&
      (!std::is_same_v<std::remove_cvref_t<T>, Argument>)Argument(T&& value_in)
      : value(std::forward<T>(value_in)) {}  // NOLINT(google-explicit-constructor)

  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
  /// "none", "true", "1.5", "'mean'", "f32[2, 3] tensor", "[1, 2]": what errors and listings show.
  std::string str() const;

  Value value;
};

/// A keyword argument.
struct NamedArgument {
  std::string name;
  Argument value;
};

}  // namespace remora::bindings
