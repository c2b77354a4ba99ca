#include "dispatch/shape_rules.h"

#include <algorithm>

#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/shape_rule_checks.h"

namespace remora::dispatch::rules {
namespace {

absl::StatusOr<Shape> broadcast_all(const ShapeContext& context) {
  Shape shape = context.inputs[0].shape;
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    absl::StatusOr<Shape> both = broadcast_shapes(shape, context.inputs[i].shape);
    if (!both.ok()) return invalid(context, std::string(both.status().message()));
    shape = *std::move(both);
  }
  return shape;
}

absl::Status check_axis(const ShapeContext& context, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank) return absl::OkStatus();
  return invalid(context, "axis ", axis, " is out of range for rank ", rank);
}

}  // namespace

absl::StatusOr<Specs> elementwise(const ShapeContext& context) {
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, i));
  }
  REMORA_ASSIGN_OR_RETURN(Shape shape, broadcast_all(context));
  return Specs{{context.inputs[0].dtype, std::move(shape)}};
}

absl::StatusOr<Specs> elementwise_truth(const ShapeContext& context) {
  REMORA_ASSIGN_OR_RETURN(Specs specs, elementwise(context));
  specs[0].dtype = DType::kBool;
  return specs;
}

absl::StatusOr<Specs> where(const ShapeContext& context) {
  if (context.inputs[0].dtype != DType::kBool) {
    return invalid(context, "the condition is ", dtype_name(context.inputs[0].dtype),
                   "; it must be bool");
  }
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 1, 2));
  REMORA_ASSIGN_OR_RETURN(Shape shape, broadcast_all(context));
  return Specs{{context.inputs[1].dtype, std::move(shape)}};
}

absl::StatusOr<Specs> same(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  if (const auto* attrs = std::get_if<AxisAttrs>(&context.attrs)) {
    REMORA_RETURN_IF_ERROR(check_axis(context, attrs->axis, input.shape.rank()));
  }
  return Specs{input};
}

absl::StatusOr<Specs> full(const ShapeContext& context) {
  const auto& attrs = std::get<FullAttrs>(context.attrs);
  return Specs{{attrs.dtype, attrs.shape}};
}

absl::StatusOr<Specs> arange(const ShapeContext& context) {
  const auto& attrs = std::get<ArangeAttrs>(context.attrs);
  if (attrs.count < 0) return invalid(context, "count ", attrs.count, " is negative");
  return Specs{{attrs.dtype, Shape{attrs.count}}};
}

absl::StatusOr<Specs> random(const ShapeContext& context) {
  const auto& attrs = std::get<RandomAttrs>(context.attrs);
  return Specs{{attrs.dtype, attrs.shape}};
}

absl::StatusOr<Specs> astype(const ShapeContext& context) {
  return Specs{{std::get<DTypeAttrs>(context.attrs).dtype, context.inputs[0].shape}};
}

absl::StatusOr<Specs> reduce(const ShapeContext& context) {
  const auto& attrs = std::get<ReduceAttrs>(context.attrs);
  const Spec& input = context.inputs[0];
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    REMORA_RETURN_IF_ERROR(check_axis(context, attrs.axes[i], input.shape.rank()));
    if (i > 0 && attrs.axes[i] <= attrs.axes[i - 1]) {
      return invalid(context, "axes ", Shape(attrs.axes).str(), " are not ascending and distinct");
    }
  }
  Spec output{input.dtype, {}};
  for (int64_t axis = 0; axis < input.shape.rank(); ++axis) {
    if (!std::ranges::binary_search(attrs.axes, axis)) {
      output.shape.sizes().push_back(input.shape[axis]);
    } else if (attrs.keepdims) {
      output.shape.sizes().push_back(1);
    }
  }
  return Specs{std::move(output)};
}

absl::StatusOr<Specs> reduce_nonempty(const ShapeContext& context) {
  REMORA_ASSIGN_OR_RETURN(Specs specs, reduce(context));
  const Shape& shape = context.inputs[0].shape;
  for (const int64_t axis : std::get<ReduceAttrs>(context.attrs).axes) {
    if (shape[axis] == 0 && specs[0].numel() != 0) {
      return invalid(context, "axis ", axis, " of ", shape.str(),
                     " is empty and has no such element");
    }
  }
  return specs;
}

absl::StatusOr<Specs> arg_reduce(const ShapeContext& context) {
  const auto& attrs = std::get<ArgReduceAttrs>(context.attrs);
  const Shape& shape = context.inputs[0].shape;
  REMORA_RETURN_IF_ERROR(check_axis(context, attrs.axis, shape.rank()));
  Spec output{DType::kI64, shape};
  if (attrs.keepdims) {
    output.shape[attrs.axis] = 1;
  } else {
    output.shape.sizes().erase(output.shape.sizes().begin() + attrs.axis);
  }
  if (shape[attrs.axis] == 0 && output.numel() != 0) {
    return invalid(context, "axis ", attrs.axis, " of ", shape.str(),
                   " is empty and has no such element");
  }
  return Specs{std::move(output)};
}

absl::StatusOr<Specs> reshape(const ShapeContext& context) {
  const Shape& shape = std::get<ShapeAttrs>(context.attrs).shape;
  REMORA_RETURN_IF_ERROR(check_shape(shape));
  if (shape.numel() != context.inputs[0].numel()) {
    return invalid(context, context.inputs[0].shape.str(), " has ", context.inputs[0].numel(),
                   " elements and does not fit ", shape.str());
  }
  return Specs{{context.inputs[0].dtype, shape}};
}

absl::StatusOr<Specs> permute(const ShapeContext& context) {
  const Dims& axes = std::get<PermuteAttrs>(context.attrs).axes;
  const Shape& shape = context.inputs[0].shape;
  Dims sorted = axes;
  std::ranges::sort(sorted);
  bool good = static_cast<int64_t>(axes.size()) == shape.rank();
  for (size_t i = 0; good && i < sorted.size(); ++i) good = sorted[i] == static_cast<int64_t>(i);
  if (!good) {
    return invalid(context, "axes ", Shape(axes).str(), " are not a permutation of rank ",
                   shape.rank());
  }
  Spec output{context.inputs[0].dtype, {}};
  for (const int64_t axis : axes) output.shape.sizes().push_back(shape[axis]);
  return Specs{std::move(output)};
}

absl::StatusOr<Specs> broadcast_to(const ShapeContext& context) {
  const Shape& shape = std::get<ShapeAttrs>(context.attrs).shape;
  REMORA_RETURN_IF_ERROR(check_shape(shape));
  const absl::StatusOr<Shape> both = broadcast_shapes(context.inputs[0].shape, shape);
  if (!both.ok() || *both != shape) {
    return invalid(context, context.inputs[0].shape.str(), " does not broadcast to ", shape.str());
  }
  return Specs{{context.inputs[0].dtype, shape}};
}

namespace {

// The box's shape; starts are params and are checked when the op runs.
absl::StatusOr<Shape> box_shape(const ShapeContext& context) {
  const auto& attrs = std::get<SliceAttrs>(context.attrs);
  const Shape& shape = context.inputs[0].shape;
  const auto rank = static_cast<size_t>(shape.rank());
  if (attrs.starts.size() != rank || attrs.steps.size() != rank || attrs.sizes.size() != rank) {
    return invalid(context, "starts, steps and sizes must have one entry for each of the ", rank,
                   " axes");
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t step = attrs.steps[axis];
    const int64_t size = attrs.sizes[axis];
    const int64_t length = shape[static_cast<int64_t>(axis)];
    if (step == 0 || step < -kMaxElements || step > kMaxElements) {
      return invalid(context, "step ", step, " of axis ", axis, " is zero or too large");
    }
    const int64_t magnitude = step < 0 ? -step : step;
    if (size < 0 || (size > 0 && (size > length || size - 1 > (length - 1) / magnitude))) {
      return invalid(context, "size ", size, " with step ", step, " does not fit axis ", axis,
                     " of ", shape.str());
    }
  }
  return Shape(attrs.sizes);
}

}  // namespace

absl::StatusOr<Specs> slice(const ShapeContext& context) {
  REMORA_ASSIGN_OR_RETURN(Shape shape, box_shape(context));
  return Specs{{context.inputs[0].dtype, std::move(shape)}};
}

absl::StatusOr<Specs> slice_assign(const ShapeContext& context) {
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, 1));
  REMORA_ASSIGN_OR_RETURN(Shape shape, box_shape(context));
  if (shape != context.inputs[1].shape) {
    return invalid(context, "the box is ", shape.str(), " and the source ",
                   context.inputs[1].shape.str());
  }
  return Specs{context.inputs[0]};
}

absl::StatusOr<Specs> concat(const ShapeContext& context) {
  const int64_t axis = std::get<AxisAttrs>(context.attrs).axis;
  Spec output = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_axis(context, axis, output.shape.rank()));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, i));
    const Shape& shape = context.inputs[i].shape;
    Shape rest = shape;
    if (shape.rank() == output.shape.rank()) rest[axis] = output.shape[axis];
    if (rest != output.shape) {
      return invalid(context, "shapes differ outside axis ", axis, ": ",
                     context.inputs[0].shape.str(), " and ", shape.str());
    }
    if (shape[axis] > kMaxElements - output.shape[axis]) {
      return invalid(context, "axis ", axis, " exceeds the limit of ", kMaxElements, " elements");
    }
    output.shape[axis] += shape[axis];
  }
  return Specs{std::move(output)};
}

namespace {

// `index` may be smaller than `data` on every axis but `axis`.
absl::Status check_index(const ShapeContext& context, const Spec& data, const Spec& index,
                         int64_t axis) {
  REMORA_RETURN_IF_ERROR(check_axis(context, axis, data.shape.rank()));
  if (index.dtype != DType::kI64) {
    return invalid(context, "the index is ", dtype_name(index.dtype), "; it must be i64");
  }
  bool good = index.shape.rank() == data.shape.rank();
  for (int64_t i = 0; good && i < data.shape.rank(); ++i) {
    good = i == axis || index.shape[i] <= data.shape[i];
  }
  if (good) return absl::OkStatus();
  return invalid(context, "index ", index.shape.str(), " does not fit ", data.shape.str(),
                 " outside axis ", axis);
}

}  // namespace

absl::StatusOr<Specs> gather(const ShapeContext& context) {
  const int64_t axis = std::get<AxisAttrs>(context.attrs).axis;
  REMORA_RETURN_IF_ERROR(check_index(context, context.inputs[0], context.inputs[1], axis));
  if (context.inputs[0].shape[axis] == 0 && context.inputs[1].numel() != 0) {
    return invalid(context, "axis ", axis, " of ", context.inputs[0].shape.str(),
                   " is empty: no index is in range");
  }
  return Specs{{context.inputs[0].dtype, context.inputs[1].shape}};
}

absl::StatusOr<Specs> scatter_add(const ShapeContext& context) {
  const int64_t axis = std::get<AxisAttrs>(context.attrs).axis;
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, 2));
  REMORA_RETURN_IF_ERROR(check_index(context, context.inputs[0], context.inputs[1], axis));
  if (context.inputs[1].shape != context.inputs[2].shape) {
    return invalid(context, "index ", context.inputs[1].shape.str(), " and source ",
                   context.inputs[2].shape.str(), " differ");
  }
  if (context.inputs[0].shape[axis] == 0 && context.inputs[1].numel() != 0) {
    return invalid(context, "axis ", axis, " of ", context.inputs[0].shape.str(),
                   " is empty: no index is in range");
  }
  return Specs{context.inputs[0]};
}

}  // namespace remora::dispatch::rules
