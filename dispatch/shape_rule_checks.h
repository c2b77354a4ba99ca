// What the shape rules check alike. Pure functions; for shape_rules*.cpp only.
#pragma once

#include "dispatch/op.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch::rules {

/// INVALID_ARGUMENT "op: parts".
template <typename... Parts>
absl::Status invalid(const ShapeContext& context, const Parts&... parts) {
  return absl::InvalidArgumentError(str_cat(context.op, ": ", parts...));
}

/// INVALID_ARGUMENT naming both unless the two operands have one element type.
inline absl::Status same_dtypes(const ShapeContext& context, size_t first, size_t second) {
  const DType a = context.inputs[first].dtype;
  const DType b = context.inputs[second].dtype;
  if (a == b) return absl::OkStatus();
  return invalid(context, "operands have different dtypes: ", dtype_name(a), " and ",
                 dtype_name(b));
}

}  // namespace remora::dispatch::rules
