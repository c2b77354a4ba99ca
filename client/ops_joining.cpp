// Joining tensors.
#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

void require_tensors(std::string_view function, const Tensors& tensors) {
  if (tensors.empty()) refuse(function, "needs at least one tensor");
}

Tensors in_common_dtype(std::string_view function, const Tensors& tensors) {
  const OpInputs placed = on_one_device(function, tensors);
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) {
    const std::optional<DType> common = promote(dtype, tensor.dtype());
    if (!common) {
      refuse(function, str_cat(dtype_name(dtype), " and ", dtype_name(tensor.dtype()),
                               " have no common type; convert one of them with astype"));
    }
    dtype = *common;
  }
  Tensors converted;
  for (const Tensor& tensor : placed) converted.push_back(astype(tensor, dtype));
  return converted;
}

template <typename Change>
Tensors each(const Tensors& tensors, Change change) {
  Tensors changed;
  for (const Tensor& tensor : tensors) changed.push_back(change(tensor));
  return changed;
}

}  // namespace

Tensor concat(const Tensors& tensors, int64_t axis) {
  const CallScope scope;
  require_tensors("concat", tensors);
  const int64_t along = normalize_axis("concat", axis, tensors[0].rank());
  const Tensors parts = in_common_dtype("concat", tensors);
  if (parts.size() == 1) return parts[0];
  return apply_all(OpCode::concat, parts, dispatch::AxisAttrs{along})[0];
}

Tensor stack(const Tensors& tensors, int64_t axis) {
  const CallScope scope;
  require_tensors("stack", tensors);
  const int64_t along = normalize_axis("stack", axis, tensors[0].rank() + 1);
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() != tensors[0].shape()) {
      refuse("stack",
             str_cat("shapes differ: ", tensors[0].shape().str(), " and ", tensor.shape().str()));
    }
  }
  return concat(each(tensors, [&](const Tensor& x) { return unsqueeze(x, along); }), along);
}

Tensor hstack(const Tensors& tensors) {
  const CallScope scope;
  require_tensors("hstack", tensors);
  const Tensors parts = each(tensors, atleast_1d);
  return concat(parts, parts[0].rank() == 1 ? 0 : 1);
}

Tensor vstack(const Tensors& tensors) {
  const CallScope scope;
  require_tensors("vstack", tensors);
  return concat(each(tensors, atleast_2d), 0);
}

Tensor dstack(const Tensors& tensors) {
  const CallScope scope;
  require_tensors("dstack", tensors);
  return concat(each(tensors, atleast_3d), 2);
}

Tensor column_stack(const Tensors& tensors) {
  const CallScope scope;
  require_tensors("column_stack", tensors);
  return concat(each(tensors,
                     [](const Tensor& x) {
                       return x.rank() < 2 ? reshape(x, {x.numel(), 1}) : x;
                     }),
                1);
}

}  // namespace remora
