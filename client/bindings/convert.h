// Conversions between dynamic arguments and the C++ types of public functions: one Converter per
// parameter type, one `to_argument` per result type. A new parameter type needs one Converter here,
// nothing else.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/bindings/argument.h"
#include "client/operand.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::bindings {

/// `Converter<T>::from(argument)` gives what a parameter of type T (without const and reference) is
/// called with, or nothing if the argument is not one; `wanted()` says what would be. The result
/// may refer to the argument.
template <typename T>
struct Converter;

template <>
struct Converter<bool> {
  static std::string wanted() { return "a boolean"; }
  static std::optional<bool> from(const Argument& argument) {
    const bool* value = argument.get_if<bool>();
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
};

template <>
struct Converter<int64_t> {
  static std::string wanted() { return "an integer"; }
  static std::optional<int64_t> from(const Argument& argument) {
    const int64_t* value = argument.get_if<int64_t>();
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
};

template <>
struct Converter<double> {
  static std::string wanted() { return "a number"; }
  static std::optional<double> from(const Argument& argument) {
    if (const auto* value = argument.get_if<double>()) return *value;
    if (const auto* value = argument.get_if<int64_t>()) return static_cast<double>(*value);
    return std::nullopt;
  }
};

template <>
struct Converter<Scalar> {
  static std::string wanted() { return "a number"; }
  static std::optional<Scalar> from(const Argument& argument) {
    if (const auto* value = argument.get_if<bool>()) return Scalar(*value);
    if (const auto* value = argument.get_if<int64_t>()) return Scalar(*value);
    if (const auto* value = argument.get_if<double>()) return Scalar(*value);
    return std::nullopt;
  }
};

template <>
struct Converter<std::string> {
  static std::string wanted() { return "text"; }
  static std::optional<std::string> from(const Argument& argument) {
    const auto* value = argument.get_if<std::string>();
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
};

template <>
struct Converter<std::string_view> : Converter<std::string> {};

template <>
struct Converter<DType> {
  static std::string wanted() { return "an element type"; }
  static std::optional<DType> from(const Argument& argument) {
    if (const auto* value = argument.get_if<DType>()) return *value;
    if (const auto* text = argument.get_if<std::string>()) return dtype_from_name(*text);
    return std::nullopt;
  }
};

/// None means the default device.
template <>
struct Converter<Device> {
  static std::string wanted() { return "a device"; }
  static std::optional<Device> from(const Argument& argument) {
    if (argument.is_none()) return Device::default_device();
    if (const auto* value = argument.get_if<Device>()) return *value;
    if (const auto* text = argument.get_if<std::string>()) return Device::parse(*text);
    return std::nullopt;
  }
};

/// None means no tensor: the binder lets it through only where the parameter has a default.
template <>
struct Converter<Tensor> {
  static std::string wanted() { return "a tensor"; }
  static std::optional<Tensor> from(const Argument& argument) {
    if (argument.is_none()) return Tensor();
    const auto* value = argument.get_if<Tensor>();
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
};

template <>
struct Converter<Operand> {
  static std::string wanted() { return "a tensor or a number"; }
  static std::optional<Operand> from(const Argument& argument) {
    if (const auto* value = argument.get_if<Tensor>()) return Operand(*value);
    if (const auto* value = argument.get_if<bool>()) return Operand(*value);
    if (const auto* value = argument.get_if<int64_t>()) return Operand(*value);
    if (const auto* value = argument.get_if<double>()) return Operand(*value);
    return std::nullopt;
  }
};

/// One integer counts as a list of one, as in NumPy.
template <>
struct Converter<Dims> {
  static std::string wanted() { return "a list of integers"; }
  static std::optional<Dims> from(const Argument& argument) {
    if (const auto* value = argument.get_if<int64_t>()) return Dims{*value};
    const auto* list = argument.get_if<Argument::List>();
    if (list == nullptr) return std::nullopt;
    Dims dims;
    for (const Argument& element : *list) {
      const auto* value = element.get_if<int64_t>();
      if (value == nullptr) return std::nullopt;
      dims.push_back(*value);
    }
    return dims;
  }
};

template <>
struct Converter<Shape> {
  static std::string wanted() { return "a shape"; }
  static std::optional<Shape> from(const Argument& argument) {
    std::optional<Dims> sizes = Converter<Dims>::from(argument);
    return sizes ? std::optional(Shape(*std::move(sizes))) : std::nullopt;
  }
};

/// None means all axes.
template <>
struct Converter<Axes> {
  static std::string wanted() { return "an axis, a list of axes or none"; }
  static std::optional<Axes> from(const Argument& argument) {
    if (argument.is_none()) return Axes();
    std::optional<Dims> axes = Converter<Dims>::from(argument);
    return axes ? std::optional(Axes(*std::move(axes))) : std::nullopt;
  }
};

template <>
struct Converter<Extent2d> {
  static std::string wanted() { return "one or two integers"; }
  static std::optional<Extent2d> from(const Argument& argument) {
    const std::optional<Dims> dims = Converter<Dims>::from(argument);
    if (!dims || dims->empty() || dims->size() > 2) return std::nullopt;
    return Extent2d(dims->front(), dims->back());
  }
};

/// None means absent.
template <typename T>
struct Converter<std::optional<T>> {
  static std::string wanted() { return str_cat(Converter<T>::wanted(), " or none"); }
  static std::optional<std::optional<T>> from(const Argument& argument) {
    if (argument.is_none()) return std::optional<T>();
    std::optional<T> value = Converter<T>::from(argument);
    return value ? std::optional(std::move(value)) : std::nullopt;
  }
};

template <typename T>
struct Converter<std::vector<T>> {
  static std::string wanted() { return str_cat("a list, each element ", Converter<T>::wanted()); }
  static std::optional<std::vector<T>> from(const Argument& argument) {
    const auto* list = argument.get_if<Argument::List>();
    if (list == nullptr) return std::nullopt;
    std::vector<T> values;
    for (const Argument& element : *list) {
      std::optional<T> value = Converter<T>::from(element);
      if (!value) return std::nullopt;
      values.push_back(*std::move(value));
    }
    return values;
  }
};

template <typename T>
struct Converter<std::span<T>> : Converter<std::vector<std::remove_const_t<T>>> {};

inline Argument to_argument(Argument value) { return value; }
inline Argument to_argument(const Dims& dims) { return Argument::List(dims.begin(), dims.end()); }
inline Argument to_argument(const Shape& shape) { return to_argument(shape.sizes()); }

template <typename T>
Argument to_argument(std::vector<T> values) {
  Argument::List list;
  for (T& value : values) list.push_back(to_argument(std::move(value)));
  return list;
}

template <typename... Ts>
Argument to_argument(std::tuple<Ts...> values) {
  return std::apply(
      [](Ts&... value) {
        Argument::List list;
        (list.push_back(to_argument(std::move(value))), ...);
        return Argument(std::move(list));
      },
      values);
}

template <typename A, typename B>
Argument to_argument(std::pair<A, B> values) {
  return to_argument(std::tuple<A, B>(std::move(values.first), std::move(values.second)));
}

}  // namespace remora::bindings
