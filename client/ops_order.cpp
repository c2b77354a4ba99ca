// Sorting, and what is chosen from a sorted axis.
#include "client/ops_order.h"

#include <cmath>
#include <limits>
#include <span>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t axis, bool descending) {
  const CallScope scope;
  if (x.rank() == 0) {
    normalize_axis("sort", axis, 1);
    return {x, zeros_like(x.detach(), DType::kI64)};
  }
  const dispatch::SortAttrs attrs{normalize_axis("sort", axis, x.rank()), descending};
  const OpOutputs outputs = apply_all(OpCode::sort, std::span(&x, 1), attrs);
  return {outputs[0], outputs[1]};
}

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  const dispatch::CallName name;
  return sort(x.detach(), axis, descending).second;
}

Tensor msort(const Tensor& x) {
  const dispatch::CallName name;
  return sort(x, 0).first;
}

namespace {

/// A scalar counts as a vector of one wherever an axis is named.
int64_t axis_size(std::string_view function, const Tensor& x, int64_t axis) {
  if (x.rank() > 0) return x.size(normalize_axis(function, axis, x.rank()));
  normalize_axis(function, axis, 1);
  return 1;
}

/// The sorted axis at one position.
std::pair<Tensor, Tensor> element_at(const std::pair<Tensor, Tensor>& sorted, int64_t axis,
                                     int64_t position, bool keepdims) {
  if (sorted.first.rank() == 0) return sorted;
  const auto take = [&](const Tensor& x) {
    return keepdims ? narrow(x, axis, position, 1) : select(x, axis, position);
  };
  return {take(sorted.first), take(sorted.second)};
}

/// The sorted axis at a position for each row, of size 1 along that axis.
std::pair<Tensor, Tensor> elements_at(const std::pair<Tensor, Tensor>& sorted, int64_t axis,
                                      const Tensor& position, bool keepdims) {
  const auto take = [&](const Tensor& x) {
    const Tensor kept = gather(x, axis, position);
    return keepdims ? kept : squeeze(kept, axis);
  };
  return {take(sorted.first), take(sorted.second)};
}

/// How many elements along the axis are no NaN; the axis becomes 1.
Tensor count_numbers(const Tensor& x, int64_t axis) {
  return sum(logical_not(isnan(x.detach())), axis, true);
}

}  // namespace

std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  const CallScope scope;
  const int64_t size = axis_size("topk", x, axis);
  if (k < 0 || k > size) {
    refuse("topk", str_cat("k ", k, " is not in [0, ", size, "], the size of the axis"));
  }
  const auto [values, indices] = sort(x, axis, largest);
  if (x.rank() == 0) {
    if (k == 0) refuse("topk", "a scalar has no empty selection; k must be 1");
    return {values, indices};
  }
  return {narrow(values, axis, 0, k), narrow(indices, axis, 0, k)};
}

std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t axis, bool keepdims) {
  const CallScope scope;
  const int64_t size = axis_size("kthvalue", x, axis);
  if (k < 1 || k > size) {
    refuse("kthvalue", str_cat("k ", k, " is not in [1, ", size, "], the size of the axis"));
  }
  return element_at(sort(x, axis), axis, k - 1, keepdims);
}

namespace {

std::pair<Tensor, Tensor> median_along(std::string_view function, const Tensor& x, int64_t axis,
                                       bool keepdims, bool ignore_nan) {
  const CallScope scope(function);
  const int64_t size = axis_size(function, x, axis);
  if (size == 0) refuse(function, str_cat("an empty axis of ", x.shape().str(), " has no median"));
  const auto sorted = sort(x, axis);
  if (x.rank() == 0) return sorted;
  if (!is_float(x.dtype())) return element_at(sorted, axis, (size - 1) / 2, keepdims);
  const Tensor numbers = count_numbers(x, axis);
  const Tensor middle =
      ignore_nan ? floor_divide(clip(numbers - 1, Operand(0), std::nullopt), 2)
                 : where(equal(numbers, size), (size - 1) / 2, numbers);  // the first NaN
  return elements_at(sorted, axis, middle, keepdims);
}

/// Of all elements; the gradient is shared evenly among those that equal it.
Tensor median_of_all(std::string_view function, const Tensor& x, bool ignore_nan) {
  const CallScope scope(function);
  if (x.numel() == 0) return full_like(sum(x), std::numeric_limits<double>::quiet_NaN(), x.dtype());
  const Tensor flat = ravel(x);
  const Tensor found = median_along(function, flat.detach(), 0, false, ignore_nan).first;
  if (!is_float(x.dtype())) return found;
  const Tensor selected =
      logical_or(equal(flat.detach(), found), logical_and(isnan(flat.detach()), isnan(found)));
  return amax(where(selected, flat, -std::numeric_limits<double>::infinity()));
}

}  // namespace

Tensor median(const Tensor& x) { return median_of_all("median", x, false); }
std::pair<Tensor, Tensor> median(const Tensor& x, int64_t axis, bool keepdims) {
  return median_along("median", x, axis, keepdims, false);
}
Tensor nanmedian(const Tensor& x) { return median_of_all("nanmedian", x, true); }
std::pair<Tensor, Tensor> nanmedian(const Tensor& x, int64_t axis, bool keepdims) {
  return median_along("nanmedian", x, axis, keepdims, true);
}

namespace {

/// Between the elements before and behind a position.
Tensor between(const Tensor& lower, const Tensor& higher, const Tensor& fraction,
               QuantileForm form) {
  switch (form) {
    case QuantileForm::kLinear:
      // A difference of infinities is no number: not where nothing of it is wanted.
      return lower + where(equal(fraction, 0.0), 0.0, higher - lower) * fraction;
    case QuantileForm::kMidpoint:
      return lower + where(equal(fraction, 0.0), 0.0, higher - lower) * 0.5;
    case QuantileForm::kLower:
    case QuantileForm::kHigher:
    case QuantileForm::kNearest:
      return lower;
  }
  return lower;
}

Tensor quantile_of(std::string_view function, const Tensor& x, const Operand& q,
                   std::optional<int64_t> axis, bool keepdims, QuantileForm form, bool ignore_nan) {
  const CallScope scope(function);
  require_float(function, x.dtype());
  if (is_half(x.dtype())) {  // which does not hold every position
    const Operand wide = q.is_tensor() ? Operand(astype(q.tensor(), DType::kF32)) : q;
    const Tensor source = astype(x, DType::kF32);
    return astype(quantile_of(function, source, wide, axis, keepdims, form, ignore_nan), x.dtype());
  }
  const Tensor wanted = materialize(q, x, x.dtype()).detach();
  if (wanted.rank() > 1)
    refuse(function,
           str_cat("q has shape ", wanted.shape().str(), "; it must be a number or a vector"));
  if (!q.is_tensor() && !(q.number().as_double() >= 0.0 && q.number().as_double() <= 1.0)) {
    refuse(function, str_cat("q ", q.number().as_double(), " is not in [0, 1]"));
  }
  // The reduced axis last.
  const int64_t along = axis && x.rank() > 0 ? normalize_axis(function, *axis, x.rank()) : 0;
  if (axis && x.rank() == 0) normalize_axis(function, *axis, 1);
  const bool whole = !axis || x.rank() == 0;
  const Tensor source = whole ? ravel(x) : movedim(x, {along}, {-1});
  if (source.size(-1) == 0) refuse(function, "an empty axis has no quantile");
  const Tensor sorted = sort(source, -1).first;
  const Tensor numbers = count_numbers(source, -1);
  const int64_t size = source.size(-1);
  // [.., 1] counts by [q] wanted.
  const Tensor last =
      ignore_nan ? clip(numbers - 1, Operand(0), std::nullopt) : full_like(numbers, size - 1);
  Tensor position = astype(last, x.dtype()) * ravel(wanted);
  if (form == QuantileForm::kNearest) position = round(position);
  if (form == QuantileForm::kLower) position = floor(position);
  if (form == QuantileForm::kHigher) position = ceil(position);
  const Tensor below = clip(floor(position), Operand(0.0), Operand(static_cast<double>(size - 1)));
  const Tensor fraction = position - below;
  const Tensor low_index = astype(below, DType::kI64);
  const Tensor high_index = minimum(low_index + 1, size - 1);
  Tensor result =
      between(gather(sorted, -1, low_index), gather(sorted, -1, high_index), fraction, form);
  if (!ignore_nan) {
    result = where(equal(numbers, size), result, std::numeric_limits<double>::quiet_NaN());
  }
  result = movedim(result, {-1}, {0});  // q's axis comes first
  if (keepdims) {
    Shape kept = x.shape();
    for (int64_t i = 0; i < x.rank(); ++i) kept[i] = whole || i == along ? 1 : x.size(i);
    kept.sizes().insert(kept.sizes().begin(), wanted.numel());
    result = reshape(result, kept);
  }
  return wanted.rank() == 0 ? squeeze(result, 0) : result;
}

}  // namespace

Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis, bool keepdims,
                QuantileForm form) {
  return quantile_of("quantile", x, q, axis, keepdims, form, false);
}

Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis, bool keepdims,
                   QuantileForm form) {
  return quantile_of("nanquantile", x, q, axis, keepdims, form, true);
}

}  // namespace remora
