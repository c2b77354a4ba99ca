// Binder: makes a C++ function callable with dynamic arguments. Its parameter types are read off
// its type; an option struct takes as many arguments as it has fields.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "client/bindings/convert.h"
#include "client/bindings/function.h"
#include "client/bindings/options.h"

namespace remora::bindings {

/// Takes a row's arguments one by one and keeps the first error.
class ArgumentReader {
 public:
  ArgumentReader(const Function& row, std::span<const Argument> arguments)
      : row_(row), arguments_(arguments) {}

  /// The next argument as T; nothing once there was an error.
  template <typename T>
  std::optional<T> next() {
    const size_t index = next_++;
    const Argument& argument = arguments_[index];
    const Parameter& parameter = row_.signature.parameters()[index];
    std::optional<T> value;
    if (!argument.is_none() || parameter.default_value) value = Converter<T>::from(argument);
    if (!value && status_.ok()) {
      status_ = absl::InvalidArgumentError(str_cat(row_.name, ": argument \"", parameter.name,
                                                   "\" must be ", Converter<T>::wanted(), ", not ",
                                                   argument.str()));
    }
    return value;
  }

  const absl::Status& status() const { return status_; }

 private:
  const Function& row_;
  const std::span<const Argument> arguments_;
  size_t next_ = 0;
  absl::Status status_;
};

/// What a parameter of type T is called with, and how many arguments that takes.
template <typename T>
struct ParameterReader {
  static constexpr size_t kFieldCount = std::tuple_size_v<decltype(OptionFields<T>::kFields)>;
  static constexpr size_t kWidth = kFieldCount == 0 ? 1 : kFieldCount;

  static auto read(ArgumentReader& reader) {
    if constexpr (kFieldCount == 0) {
      return decltype(Converter<T>::from(std::declval<const Argument&>()))(
          reader.next<typename decltype(Converter<T>::from(
              std::declval<const Argument&>()))::value_type>());
    } else {
      std::optional<T> options{T{}};
      std::apply([&](auto... field) { (read_field(reader, (*options).*field), ...); },
                 OptionFields<T>::kFields);
      return options;
    }
  }

 private:
  template <typename Field>
  static void read_field(ArgumentReader& reader, Field& field) {
    if (std::optional<Field> value = reader.next<Field>()) field = *std::move(value);
  }
};

/// Calls functions of one C++ type. Functions share signatures, so there are fewer of these than
/// rows.
template <typename Signature>
struct Binder;

template <typename Result, typename... Parameters>
struct Binder<Result(Parameters...)> {
  /// Arguments that a row's signature must have.
  static constexpr size_t kWidth =
      (ParameterReader<std::remove_cvref_t<Parameters>>::kWidth + ... + 0);

  static absl::StatusOr<Argument> call(const Function& row, std::span<const Argument> arguments) {
    const auto function = reinterpret_cast<Result (*)(Parameters...)>(row.target);
    ArgumentReader reader(row, arguments);
    // A braced list is evaluated from left to right; a call's arguments need not be.
    auto values = std::tuple{ParameterReader<std::remove_cvref_t<Parameters>>::read(reader)...};
    if (!reader.status().ok()) return reader.status();
    return std::apply([&](auto&... value) { return to_argument(function(*std::move(value)...)); },
                      values);
  }
};

}  // namespace remora::bindings
