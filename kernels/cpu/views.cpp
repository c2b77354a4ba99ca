#include "kernels/cpu/views.h"

#include <algorithm>

#include "dispatch/str_cat.h"

namespace remora::cpu {
namespace {

using dispatch::OpCode;

/// Strides of a reshape that moves nothing: each run of operand axes without gaps between them is
/// cut anew.
bool reshape_strides(const TensorView& operand, std::span<const int64_t> sizes, Dims& strides) {
  strides = contiguous_strides(Shape(sizes));
  if (operand.numel() == 0) return true;
  auto target = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run = 1;  // elements of the operand's axes since the last gap
  int64_t base_stride = operand.rank() == 0 ? 1 : operand.strides.back();
  for (int64_t axis = operand.rank() - 1; axis >= 0; --axis) {
    run *= operand.size(axis);
    const bool gap =
        axis == 0 || (operand.size(axis - 1) != 1 && operand.stride(axis - 1) != run * base_stride);
    if (!gap) continue;
    int64_t filled = 1;
    while (target >= 0 && (filled < run || sizes[static_cast<size_t>(target)] == 1)) {
      strides[static_cast<size_t>(target)] = filled * base_stride;
      filled *= sizes[static_cast<size_t>(target)];
      --target;
    }
    if (filled != run) return false;
    if (axis > 0) {
      run = 1;
      base_stride = operand.stride(axis - 1);
    }
  }
  return true;
}

Dims broadcast_strides(const TensorView& operand, std::span<const int64_t> sizes) {
  Dims strides(sizes.size(), 0);
  const size_t missing = sizes.size() - operand.sizes.size();
  for (size_t axis = 0; axis < operand.sizes.size(); ++axis) {
    if (operand.sizes[axis] != 1) strides[missing + axis] = operand.strides[axis];
  }
  return strides;
}

/// The starts for which `count` elements in steps of `step` lie in [0, size); empty (low > high)
/// for none.
struct Range {
  int64_t low, high;
};
Range allowed_starts(int64_t size, int64_t step, int64_t count) {
  if (count == 0) return {0, size};
  // As many steps as fit decide before the product is formed, so nothing overflows.
  const uint64_t stride = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  if (size < 1 || (stride != 0 &&
                   static_cast<uint64_t>(count - 1) > static_cast<uint64_t>(size - 1) / stride)) {
    return {0, -1};
  }
  const int64_t reach = (count - 1) * static_cast<int64_t>(count > 1 ? stride : 0);
  return step < 0 ? Range{reach, size - 1} : Range{0, size - 1 - reach};
}

}  // namespace

bool is_view_op(const dispatch::OpInfo& info, std::span<const Spec> inputs,
                std::span<const Spec> outputs) {
  switch (info.code) {
    case OpCode::reshape:
    case OpCode::permute:
    case OpCode::broadcast_to:
    case OpCode::slice:
      return true;
    case OpCode::astype:
      return inputs[0].dtype == outputs[0].dtype;
    default:
      return false;
  }
}

View slice_view(std::string_view op, const dispatch::SliceAttrs& attrs,
                std::span<const int64_t> sizes, std::span<const int64_t> strides,
                absl::Status& failure) {
  View view;
  view.strides.resize(sizes.size());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t step = attrs.steps[axis];
    const int64_t count = attrs.sizes[axis];
    const Range allowed = allowed_starts(sizes[axis], step, count);
    int64_t start = attrs.starts[axis];
    if (start < allowed.low || start > allowed.high) {
      if (failure.ok()) {
        failure = absl::InvalidArgumentError(
            str_cat(op, ": start ", start, " is out of range for axis ", axis, " of size ",
                    sizes[axis], ": ", count, " elements in steps of ", step, " need a start in [",
                    allowed.low, ", ", allowed.high, "]"));
      }
      start = std::clamp(start, allowed.low, std::max(allowed.low, allowed.high));
    }
    view.offset += count == 0 ? 0 : start * strides[axis];
    view.strides[axis] = count > 1 ? step * strides[axis] : 0;
  }
  return view;
}

absl::Status check_slice_fits(std::string_view op, const dispatch::SliceAttrs& attrs,
                              const Shape& shape) {
  const auto rank = static_cast<size_t>(shape.rank());
  if (attrs.starts.size() != rank || attrs.steps.size() != rank || attrs.sizes.size() != rank) {
    return absl::InvalidArgumentError(
        str_cat(op, ": needs one start, step and size for each axis of ", shape.str()));
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    const Range allowed = allowed_starts(shape.sizes()[axis], attrs.steps[axis], attrs.sizes[axis]);
    if (allowed.low > allowed.high) {
      return absl::InvalidArgumentError(str_cat(op, ": ", attrs.sizes[axis],
                                                " elements in steps of ", attrs.steps[axis],
                                                " do not fit axis ", axis, " of ", shape.str()));
    }
  }
  return absl::OkStatus();
}

bool make_view(OpCode code, const dispatch::Attrs& attrs, const TensorView& operand,
               std::span<const int64_t> sizes, View& view, absl::Status& failure) {
  view.offset = 0;
  switch (code) {
    case OpCode::reshape:
      return reshape_strides(operand, sizes, view.strides);
    case OpCode::permute: {
      const Dims& axes = std::get<dispatch::PermuteAttrs>(attrs).axes;
      view.strides.resize(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) view.strides[i] = operand.stride(axes[i]);
      return true;
    }
    case OpCode::broadcast_to:
      view.strides = broadcast_strides(operand, sizes);
      return true;
    case OpCode::slice:
      view = slice_view("slice", std::get<dispatch::SliceAttrs>(attrs), operand.sizes,
                        operand.strides, failure);
      return true;
    default:  // astype to the same type
      view.strides.assign(operand.strides.begin(), operand.strides.end());
      return true;
  }
}

}  // namespace remora::cpu
