// Shape ops as views: another offset and other strides over the same storage. Pure functions.
#pragma once

#include "kernels/cpu/kernel.h"

namespace remora::cpu {

/// A result that shares its operand's storage.
struct View {
  int64_t offset = 0;  // of its first element from the operand's, in elements
  Dims strides;
};

/// True if the op's result can be a view of its first operand (some reshapes still need a copy).
bool is_view_op(const dispatch::OpInfo& info, std::span<const Spec> inputs,
                std::span<const Spec> outputs);

/// Computes the view of a view op; false where the operand's strides do not allow one. `failure` is
/// set if an attribute is out of range; the view is then of clamped values and still lies inside
/// the operand.
bool make_view(dispatch::OpCode code, const dispatch::Attrs& attrs, const TensorView& operand,
               std::span<const int64_t> sizes, View& view, absl::Status& failure);

/// The box of a slice or slice_assign over a tensor of these sizes and strides, like `make_view`.
View slice_view(std::string_view op, const dispatch::SliceAttrs& attrs,
                std::span<const int64_t> sizes, std::span<const int64_t> strides,
                absl::Status& failure);

/// INVALID_ARGUMENT unless the box fits the sizes from some start.
absl::Status check_slice_fits(std::string_view op, const dispatch::SliceAttrs& attrs,
                              const Shape& shape);

}  // namespace remora::cpu
