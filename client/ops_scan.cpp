// Products, running sums and differences.
#include "client/apply.h"
#include "client/axes.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

DType accumulator(const Tensor& x) {
  return is_float(x.dtype())                                     ? x.dtype()
         : dtype_category(x.dtype()) == DTypeCategory::kUnsigned ? DType::kU64
                                                                 : DType::kI64;
}

/// A running row along an axis; a scalar is its own.
Tensor scan(dispatch::OpCode code, std::string_view function, const Tensor& input, int64_t axis) {
  const CallScope scope(function);
  const Tensor x = astype(input, accumulator(input));
  if (x.rank() == 0) {
    normalize_axis(function, axis, 1);
    return x;
  }
  return apply(code, {x}, dispatch::AxisAttrs{normalize_axis(function, axis, x.rank())});
}

}  // namespace

Tensor prod(const Tensor& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const CallScope scope;
  const Dims reduced = normalize_axes("prod", axes, x.rank());
  const Tensor factors = astype(x, dtype.value_or(accumulator(x)));
  return apply(dispatch::OpCode::prod, {factors}, dispatch::ReduceAttrs{reduced, keepdims});
}

Tensor cumsum(const Tensor& x, int64_t axis) {
  return scan(dispatch::OpCode::cumsum, "cumsum", x, axis);
}

Tensor cumprod(const Tensor& x, int64_t axis) {
  return scan(dispatch::OpCode::cumprod, "cumprod", x, axis);
}

Tensor diff(const Tensor& x, int64_t n, int64_t axis) {
  const CallScope scope;
  if (n < 0) refuse("diff", str_cat("the order ", n, " is negative"));
  const int64_t along = normalize_axis("diff", axis, x.rank());
  Tensor result = x;
  for (int64_t i = 0; i < n && result.size(along) > 0; ++i) {
    const int64_t size = result.size(along);
    const Tensor later = narrow(result, along, 1, size - 1);
    const Tensor earlier = narrow(result, along, 0, size - 1);
    result = x.dtype() == DType::kBool ? logical_xor(later, earlier) : later - earlier;
  }
  return result;
}

}  // namespace remora
