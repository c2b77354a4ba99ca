// What functions of tensors take besides tensors: numbers, axes and sizes, each with the implicit
// conversions that let a call read as it would in Python.
#pragma once

#include <initializer_list>
#include <optional>
#include <type_traits>

#include "client/tensor.h"

namespace remora {

/// An operand of an elementwise function: a tensor or a C++ number. A number takes the tensor's
/// dtype unless its category is higher (bool < integer < float); then the default dtype of that
/// category. An unsigned number above 2^63 - 1 is its 64 bits: exact beside a u64 tensor. Refers to
/// its tensor: use it only as a function's parameter.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}  // NOLINT(google-explicit-constructor)
  template <typename T>
  requires std::is_arithmetic_v<T> Operand(T number)  // NOLINT(google-explicit-constructor)
      : number_(to_scalar(number)),
        category_(std::is_same_v<T, bool>       ? DTypeCategory::kBoolean
                  : std::is_floating_point_v<T> ? DTypeCategory::kFloat
                                                : DTypeCategory::kSigned) {}
  /// A number of run-time category, integer or floating.
  Operand(const Scalar& number)  // NOLINT(google-explicit-constructor)
      : number_(number),
        category_(number.is_float() ? DTypeCategory::kFloat : DTypeCategory::kSigned) {}

  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  const Scalar& number() const { return number_; }
  DTypeCategory category() const { return category_; }

 private:
  template <typename T>
  static Scalar to_scalar(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      return Scalar(static_cast<double>(number));
    } else {
      return Scalar(static_cast<int64_t>(number));
    }
  }
  const Tensor* tensor_ = nullptr;
  Scalar number_;
  DTypeCategory category_ = DTypeCategory::kFloat;
};

/// Axes of a reduction: all of them by default, one, or several; negative ones count from the end.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : axes_(Dims{axis}) {}      // NOLINT(google-explicit-constructor)
  Axes(int64_t axis) : axes_(Dims{axis}) {}  // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int64_t> axes)
      : axes_(Dims(axes)) {}                   // NOLINT(google-explicit-constructor)
  Axes(Dims axes) : axes_(std::move(axes)) {}  // NOLINT(google-explicit-constructor)

  bool all() const { return !axes_.has_value(); }
  const Dims& list() const { return *axes_; }

 private:
  std::optional<Dims> axes_;
};

/// Height and width of a window, stride or padding; one number means both.
struct Extent2d {
  int64_t height = 0;
  int64_t width = 0;
  Extent2d(int both) : height(both), width(both) {}      // NOLINT(google-explicit-constructor)
  Extent2d(int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  Extent2d(int64_t height_in, int64_t width_in) : height(height_in), width(width_in) {}
  Dims dims() const { return {height, width}; }
  bool operator==(const Extent2d&) const = default;
};

}  // namespace remora
