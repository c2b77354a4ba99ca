// Shape rules of scans, sorting and scattering.
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/shape_rule_checks.h"
#include "dispatch/shape_rules.h"

namespace remora::dispatch::rules {
namespace {

absl::Status check_along(const ShapeContext& context, int64_t axis) {
  const int64_t rank = context.inputs[0].shape.rank();
  if (axis >= 0 && axis < rank) return absl::OkStatus();
  return invalid(context, "axis ", axis, " is out of range for rank ", rank);
}

}  // namespace

absl::StatusOr<Specs> polygamma(const ShapeContext& context) {
  const int64_t order = std::get<OrderAttrs>(context.attrs).order;
  if (order < 0 || order > kMaxDerivativeOrder) {
    return invalid(context, "order ", order, " is not in [0, ", kMaxDerivativeOrder, "]");
  }
  return Specs{context.inputs[0]};
}

absl::StatusOr<Specs> with_index(const ShapeContext& context) {
  const auto* sorting = std::get_if<SortAttrs>(&context.attrs);
  const int64_t axis = sorting != nullptr ? sorting->axis : std::get<AxisAttrs>(context.attrs).axis;
  REMORA_RETURN_IF_ERROR(check_along(context, axis));
  return Specs{context.inputs[0], {DType::kI64, context.inputs[0].shape}};
}

absl::StatusOr<Specs> scatter(const ShapeContext& context) {
  int64_t axis = 0;
  if (const auto* attrs = std::get_if<ScatterAttrs>(&context.attrs)) {
    axis = attrs->axis;
    if (attrs->reduction < 0 || attrs->reduction > 2) {
      return invalid(context, "reduction ", attrs->reduction, " is not in [0, 2]");
    }
  } else {
    axis = std::get<AxisAttrs>(context.attrs).axis;
  }
  // What fits and what is in range is the same for everything that scatters.
  return scatter_add({context.op, context.inputs, AxisAttrs{axis}});
}

}  // namespace remora::dispatch::rules
