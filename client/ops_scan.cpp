// Products and running sums, as trees and scans of slices: log2(n) steps, each one op over the
// whole tensor.
#include <functional>

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

/// The product along one axis, which becomes 1: halves are multiplied until one element is left.
Tensor product_along(Tensor x, int64_t axis) {
  if (x.size(axis) == 0) {
    Shape shape = x.shape();
    shape[axis] = 1;
    return full(shape, 1, x.device(), x.dtype());
  }
  while (x.size(axis) > 1) {
    const int64_t size = x.size(axis);
    const int64_t half = size / 2;
    const Tensor halves = narrow(x, axis, 0, half) * narrow(x, axis, half, half);
    x = size % 2 == 0 ? halves : concat({halves, narrow(x, axis, size - 1, 1)}, axis);
  }
  return x;
}

/// Hillis and Steele's inclusive scan: after step k each element covers the 2^k before it.
Tensor scan(std::string_view function, const Tensor& input, int64_t axis,
            const std::function<Tensor(const Tensor&, const Tensor&)>& combine) {
  if (is_half(input.dtype())) {
    return through_f32(input, [&](const Tensor& f) { return scan(function, f, axis, combine); });
  }
  Tensor x = astype(input, accumulator(input));
  if (x.rank() == 0) {
    normalize_axis(function, axis, 1);
    return x;
  }
  const int64_t along = normalize_axis(function, axis, x.rank());
  const int64_t size = x.size(along);
  for (int64_t reach = 1; reach < size; reach *= 2) {
    const Tensor later =
        combine(narrow(x, along, 0, size - reach), narrow(x, along, reach, size - reach));
    x = concat({narrow(x, along, 0, reach), later}, along);
  }
  return x;
}

}  // namespace

Tensor prod(const Tensor& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const CallScope scope;
  const Dims reduced = normalize_axes("prod", axes, x.rank());
  if (const DType type = dtype.value_or(x.dtype()); is_half(type)) {
    return astype(prod(x, reduced, keepdims, DType::kF32), type);
  }
  Tensor result = astype(x, dtype.value_or(accumulator(x)));
  for (const int64_t axis : reduced) result = product_along(result, axis);
  return keepdims ? result : squeeze(result, reduced);
}

Tensor cumsum(const Tensor& x, int64_t axis) {
  const CallScope scope;
  return scan("cumsum", x, axis, [](const Tensor& a, const Tensor& b) { return a + b; });
}

Tensor cumprod(const Tensor& x, int64_t axis) {
  const CallScope scope;
  return scan("cumprod", x, axis, [](const Tensor& a, const Tensor& b) { return a * b; });
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
