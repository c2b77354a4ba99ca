// Reductions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "client/apply.h"
#include "client/axes.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What sums and products of a type are computed in.
DType sum_dtype(DType dtype) {
  switch (dtype_category(dtype)) {
    case DTypeCategory::kBoolean:
    case DTypeCategory::kSigned:
      return DType::kI64;
    case DTypeCategory::kUnsigned:
      return DType::kU64;
    case DTypeCategory::kFloat:
      return dtype;
  }
  return dtype;
}

Tensor reduce(OpCode code, const Tensor& x, const Dims& axes, bool keepdims) {
  return apply(code, {x}, dispatch::ReduceAttrs{axes, keepdims});
}

int64_t reduced_count(const Tensor& x, const Dims& axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) count *= x.size(axis);
  return count;
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const CallScope scope;
  const Tensor terms = astype(x, dtype.value_or(sum_dtype(x.dtype())));
  return reduce(OpCode::sum, terms, normalize_axes("sum", axes, x.rank()), keepdims);
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const CallScope scope;
  if (!is_float(dtype.value_or(x.dtype()))) {
    refuse("mean", str_cat("the mean of ", dtype_name(x.dtype()),
                           " needs a floating-point dtype argument"));
  }
  const Dims reduced = normalize_axes("mean", axes, x.rank());
  const double count = static_cast<double>(reduced_count(x, reduced));
  const DType result = dtype.value_or(x.dtype());
  if (is_half(result)) {  // its sum may be out of range where the mean is not
    return astype(sum(x, reduced, keepdims, DType::kF32) / count, result);
  }
  return sum(x, reduced, keepdims, dtype) / count;
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& axes, double correction,
                                   bool keepdims) {
  const CallScope scope;
  require_float("var", x.dtype());
  if (is_half(x.dtype())) {
    const auto [variance, center] = var_mean(astype(x, DType::kF32), axes, correction, keepdims);
    return {astype(variance, x.dtype()), astype(center, x.dtype())};
  }
  const Dims reduced = normalize_axes("var", axes, x.rank());
  const double count = static_cast<double>(reduced_count(x, reduced));
  const Tensor center = mean(x, reduced, true);
  const Tensor squares = sum(square(x - center), reduced, keepdims);
  return {squares / std::max(0.0, count - correction),
          keepdims ? center : squeeze(center, reduced)};
}

Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  const dispatch::CallName name;
  return var_mean(x, axes, correction, keepdims).first;
}

Tensor std(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  const CallScope scope;
  return through_f32(x, [&](const Tensor& f) { return sqrt(var(f, axes, correction, keepdims)); });
}

std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& axes, double correction,
                                   bool keepdims) {
  const CallScope scope;
  const auto [variance, center] = var_mean(x, axes, correction, keepdims);
  return {sqrt(variance), center};
}

// -- extremes

namespace {

Dims one_axis_of_flat(const Tensor& x, std::optional<int64_t> axis, std::string_view function) {
  return {axis ? normalize_axis(function, *axis, x.rank()) : 0};
}

Tensor arg_reduce(OpCode code, std::string_view function, const Tensor& x,
                  std::optional<int64_t> axis, bool keepdims) {
  if (axis && x.rank() == 0) {
    normalize_axis(function, *axis, 1);
    return arg_reduce(code, function, x, std::nullopt, keepdims);
  }
  const int64_t along = one_axis_of_flat(x, axis, function)[0];
  const Tensor source = axis ? x : ravel(x);
  const bool keep = axis.has_value() && keepdims;
  const Tensor index = apply(code, {source}, dispatch::ArgReduceAttrs{along, keep});
  if (axis || !keepdims) return index;
  return reshape(index, Shape(Dims(static_cast<size_t>(x.rank()), 1)));
}

std::pair<Tensor, Tensor> select_along(const Tensor& x, const Tensor& index, int64_t axis,
                                       bool keepdims) {
  if (x.rank() == 0) return {x, index};
  const int64_t along = normalize_axis("max", axis, x.rank());
  const Tensor kept = keepdims ? index : unsqueeze(index, along);
  const Tensor values = gather(x, along, kept);
  return {keepdims ? values : squeeze(values, along), index};
}

}  // namespace

Tensor amax(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(OpCode::amax, x, normalize_axes("amax", axes, x.rank()), keepdims);
}

Tensor amin(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(OpCode::amin, x, normalize_axes("amin", axes, x.rank()), keepdims);
}

std::pair<Tensor, Tensor> aminmax(const Tensor& x, const Axes& axes, bool keepdims) {
  const CallScope scope;
  return {amin(x, axes, keepdims), amax(x, axes, keepdims)};
}

Tensor max(const Tensor& x) {
  const dispatch::CallName name;
  return amax(x);
}
Tensor min(const Tensor& x) {
  const dispatch::CallName name;
  return amin(x);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const CallScope scope;
  return arg_reduce(OpCode::argmax, "argmax", x, axis, keepdims);
}

Tensor argmin(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const CallScope scope;
  return arg_reduce(OpCode::argmin, "argmin", x, axis, keepdims);
}

std::pair<Tensor, Tensor> max(const Tensor& x, int64_t axis, bool keepdims) {
  const CallScope scope;
  return select_along(x, arg_reduce(OpCode::argmax, "max", x, axis, keepdims), axis, keepdims);
}

std::pair<Tensor, Tensor> min(const Tensor& x, int64_t axis, bool keepdims) {
  const CallScope scope;
  return select_along(x, arg_reduce(OpCode::argmin, "min", x, axis, keepdims), axis, keepdims);
}

namespace {

/// The largest (any) or smallest (all) truth value; `of_nothing` where there is none.
Tensor reduce_truth(std::string_view function, OpCode code, const Tensor& x, const Axes& axes,
                    bool keepdims, bool of_nothing) {
  const CallScope scope(function);
  const Tensor truth = x.dtype() == DType::kBool ? x : not_equal(x, 0);
  const Dims reduced = normalize_axes(function, axes, x.rank());
  if (reduced_count(x, reduced) > 0) return reduce(code, truth, reduced, keepdims);
  return full_like(sum(truth, reduced, keepdims), of_nothing, DType::kBool);
}

}  // namespace

Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce_truth("any", OpCode::amax, x, axes, keepdims, false);
}

Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce_truth("all", OpCode::amin, x, axes, keepdims, true);
}

Tensor count_nonzero(const Tensor& x, const Axes& axes) {
  const CallScope scope;
  return sum(x.dtype() == DType::kBool ? x : not_equal(x, 0), axes);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const CallScope scope;
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return logsumexp(f, axes, keepdims); });
  }
  const Tensor f = promote_one(x, Domain::kFloat);
  const Dims reduced = normalize_axes("logsumexp", axes, x.rank());
  if (reduced_count(f, reduced) == 0) return log(sum(f, reduced, keepdims));  // of nothing: log(0)
  const Tensor largest = amax(f.detach(), reduced, true);
  const Tensor shift = where(isfinite(largest), largest, 0.0);
  const Tensor total = log(sum(exp(f - shift), reduced, keepdims));
  return total + (keepdims ? shift : squeeze(shift, reduced));
}

// -- norms

namespace {

/// root(x) where x is not 0, else 0 with gradient 0.
template <typename Root>
Tensor root_or_zero(const Tensor& x, Root root) {
  const Tensor zero = equal(x, 0.0);
  return where(zero, 0.0, root(where(zero, 1.0, x)));
}

}  // namespace

Tensor vector_norm(const Tensor& x, double order, const Axes& axes, bool keepdims) {
  const CallScope scope;
  require_float("vector_norm", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return vector_norm(f, order, axes, keepdims); });
  }
  const Dims reduced = normalize_axes("vector_norm", axes, x.rank());
  if (order == kInfinity) return amax(abs(x), reduced, keepdims);
  if (order == -kInfinity) return amin(abs(x), reduced, keepdims);
  if (order == 0.0) return sum(astype(not_equal(x, 0), x.dtype()), reduced, keepdims);
  if (order == 1.0) return sum(abs(x), reduced, keepdims);
  if (order == 2.0) {
    return root_or_zero(sum(square(x), reduced, keepdims), [](const Tensor& s) { return sqrt(s); });
  }
  if (order < 0) {  // any zero makes it 0
    const Tensor zero = equal(x, 0.0);
    const Tensor powers = pow(abs(where(zero, 1.0, x)), order);
    return where(any(zero, reduced, keepdims), 0.0,
                 pow(sum(powers, reduced, keepdims), 1.0 / order));
  }
  const Tensor powers = root_or_zero(abs(x), [&](const Tensor& a) { return pow(a, order); });
  return root_or_zero(sum(powers, reduced, keepdims),
                      [&](const Tensor& s) { return pow(s, 1.0 / order); });
}

Tensor norm(const Tensor& x, double order, const Axes& axes, bool keepdims) {
  const dispatch::CallName name;
  return vector_norm(x, order, axes, keepdims);
}

Tensor dist(const Tensor& x, const Tensor& y, double order) {
  const CallScope scope;
  return vector_norm(x - y, order);
}

Tensor nansum(const Tensor& x, const Axes& axes, bool keepdims) {
  const CallScope scope;
  return is_float(x.dtype()) ? sum(where(isnan(x), 0.0, x), axes, keepdims)
                             : sum(x, axes, keepdims);
}

Tensor nanmean(const Tensor& x, const Axes& axes, bool keepdims) {
  const CallScope scope;
  require_float("nanmean", x.dtype());
  const Tensor count = sum(astype(logical_not(isnan(x)), x.dtype()), axes, keepdims);
  return nansum(x, axes, keepdims) / count;
}

Tensor sum_to_size(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const CallScope scope;
  const int64_t extra = x.rank() - shape.rank();
  bool fits = extra >= 0;
  Dims axes;
  for (int64_t axis = 0; fits && axis < x.rank(); ++axis) {
    const int64_t wanted = axis < extra ? 1 : shape[axis - extra];
    fits = wanted == x.size(axis) || wanted == 1;
    if (axis < extra || wanted != x.size(axis)) axes.push_back(axis);
  }
  if (!fits) {
    refuse("sum_to_size", str_cat(shape.str(), " does not broadcast to ", x.shape().str()));
  }
  return reshape(sum(x, axes, true, x.dtype() == DType::kBool ? DType::kI64 : x.dtype()), shape);
}

}  // namespace remora
