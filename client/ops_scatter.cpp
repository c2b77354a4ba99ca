// Scatter and what composes it.
#include "client/ops_scatter.h"

#include <limits>

#include "client/apply.h"
#include "client/index_operand.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

void require_same_dtype(std::string_view function, const Tensor& x, const Tensor& source) {
  if (x.dtype() == source.dtype()) return;
  refuse(function, str_cat("the source is ", dtype_name(source.dtype()), ", the tensor ",
                           dtype_name(x.dtype())));
}

/// A scatter row over operands of the same rank, at least 1, and dtype.
Tensor scatter_row(std::string_view function, OpCode code, const Tensor& x, int64_t axis,
                   const Tensor& index, const Tensor& source, int64_t reduction = 0) {
  require_index(function, index);
  require_same_dtype(function, x, source);
  if (x.rank() == 0) {
    normalize_axis(function, axis, 1);
    return reshape(
        scatter_row(function, code, reshape(x, {1}), 0, ravel(index), ravel(source), reduction),
        {});
  }
  const int64_t along = normalize_axis(function, axis, x.rank());
  bool fits = source.rank() == index.rank();
  for (int64_t i = 0; fits && i < index.rank(); ++i) fits = index.size(i) <= source.size(i);
  if (!fits) {
    refuse(function, str_cat("the index ", index.shape().str(), " is longer than the source ",
                             source.shape().str()));
  }
  dispatch::Attrs attrs = dispatch::AxisAttrs{along};
  if (code == OpCode::scatter_reduce) attrs = dispatch::ScatterAttrs{along, reduction};
  return apply(code, {x, index, corner(source, index.shape())}, std::move(attrs));
}

/// The largest or the smallest value of a dtype.
Scalar extreme_of(DType dtype, bool largest) {
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar(largest ? infinity : -infinity);
  }
  const auto bits = static_cast<unsigned>(8 * dtype_size(dtype));
  const uint64_t ones = ~uint64_t{0} >> (64 - bits);
  if (dtype_category(dtype) == DTypeCategory::kUnsigned) {
    return Scalar(largest ? static_cast<int64_t>(ones) : int64_t{0});
  }
  const auto top = static_cast<int64_t>(ones >> 1);
  return Scalar(largest ? top : -top - 1);
}

}  // namespace

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source) {
  const CallScope scope;
  if (!source.is_tensor()) {
    const Tensor value = broadcast_to(materialize(source, x, x.dtype()), index.shape());
    return scatter_row("scatter", OpCode::scatter, x, axis, index, value);
  }
  return scatter_row("scatter", OpCode::scatter, x, axis, index, source.tensor());
}

Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source,
                      std::string_view reduction, bool include_self) {
  const CallScope scope;
  constexpr std::string_view kFunction = "scatter_reduce";
  const bool is_sum = reduction == "sum";
  const bool is_mean = reduction == "mean";
  const int64_t row = reduction == "prod" ? 0 : reduction == "amin" ? 1 : 2;
  if (!is_sum && !is_mean && row == 2 && reduction != "amax") {
    refuse(kFunction,
           str_cat("reduction \"", reduction, "\" is none of sum, prod, mean, amin, amax"));
  }
  if (x.dtype() == DType::kBool && source.dtype() == DType::kBool) {
    return not_equal(scatter_reduce(astype(x, DType::kI64), axis, index,
                                    astype(source, DType::kI64), reduction, include_self),
                     0);
  }
  const bool narrow_integer = is_integer(x.dtype()) && dtype_size(x.dtype()) < 8;
  if (is_mean && (is_half(x.dtype()) || narrow_integer)) {  // which does not hold every count
    const DType wide = narrow_integer ? DType::kI64 : DType::kF32;
    require_same_dtype(kFunction, x, source);
    return astype(
        scatter_reduce(astype(x, wide), axis, index, astype(source, wide), reduction, include_self),
        x.dtype());
  }
  Tensor start = x;
  if (!include_self) {
    const Scalar neutral = is_sum || is_mean ? Scalar(0)
                           : row == 0        ? Scalar(1)
                                             : extreme_of(x.dtype(), row == 1);
    start = scatter(x, axis, index, Operand(neutral));
  }
  if (!is_sum && !is_mean) {
    return scatter_row(kFunction, OpCode::scatter_reduce, start, axis, index, source, row);
  }
  const Tensor total = scatter_add(start, axis, index, source);
  if (is_sum) return total;
  const Tensor one = full_like(x.inner(), 1);
  const Tensor ones_before = include_self ? one : scatter(one, axis, index, 0);
  const Tensor count =
      scatter_add(ones_before, axis, index, broadcast_to(constant(x, 1, x.dtype()), index.shape()));
  const Tensor divisor = maximum(count, 1);
  return is_float(x.dtype()) ? total / divisor : floor_divide(total, divisor);
}

namespace {

/// The axis, an index repeated along the others, and a check of the source, for index_*.
struct Slices {
  int64_t axis;
  Tensor index;
};
Slices slices_of(std::string_view function, const Tensor& x, int64_t axis, const Tensor& index,
                 const Tensor* source) {
  if (x.rank() == 0) {
    normalize_axis(function, axis, 1);
    require_index(function, index);
    return {0, ravel(index)};
  }
  const int64_t along = normalize_axis(function, axis, x.rank());
  Shape expected = x.shape();
  expected[along] = index.numel();
  if (source != nullptr && source->shape() != expected) {
    refuse(function, str_cat("the source is ", source->shape().str(), "; index and tensor want ",
                             expected.str()));
  }
  return {along, index_like(function, index, x.shape(), along)};
}

}  // namespace

Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const CallScope scope;
  const Slices slices = slices_of("index_copy", x, axis, index, &source);
  const Tensor values = x.rank() == 0 ? ravel(source) : source;
  return scatter_row("index_copy", OpCode::scatter, x, slices.axis, slices.index, values);
}

Tensor index_fill(const Tensor& x, int64_t axis, const Tensor& index, const Operand& value) {
  const CallScope scope;
  if (value.is_tensor() && value.tensor().rank() != 0) {
    refuse("index_fill", str_cat("the value has shape ", value.tensor().shape().str(),
                                 "; it must be a number or a tensor of rank 0"));
  }
  const Slices slices = slices_of("index_fill", x, axis, index, nullptr);
  const Tensor values = broadcast_to(materialize(value, x, x.dtype()), slices.index.shape());
  return scatter_row("index_fill", OpCode::scatter, x, slices.axis, slices.index, values);
}

Tensor index_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source,
                    std::string_view reduction, bool include_self) {
  const CallScope scope;
  const Slices slices = slices_of("index_reduce", x, axis, index, &source);
  if (x.rank() > 0) {
    return scatter_reduce(x, slices.axis, slices.index, source, reduction, include_self);
  }
  return reshape(
      scatter_reduce(reshape(x, {1}), 0, slices.index, ravel(source), reduction, include_self), {});
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  const CallScope scope;
  if (mask.dtype() != DType::kBool) {
    refuse("masked_scatter",
           str_cat("the mask is ", dtype_name(mask.dtype()), "; it must be bool"));
  }
  if (x.dtype() != source.dtype()) {
    refuse("masked_scatter", str_cat("the source is ", dtype_name(source.dtype()), ", the tensor ",
                                     dtype_name(x.dtype())));
  }
  const Shape common = common_shape("masked_scatter", x.shape(), mask.shape());
  const Tensor chosen = broadcast_to(mask, common);
  const Tensor base = broadcast_to(x, common);
  if (common.numel() == 0 || source.numel() == 0) {
    // Without a source no element may be chosen: the place behind the last is out of range.
    if (common.numel() == 0) return base;
    const Tensor none = concat({ravel(source), new_zeros(source, {1})}, 0);
    const Tensor place = where(ravel(chosen), 1, 0);
    return reshape(where(ravel(chosen), gather(none, 0, place), ravel(base)), common);
  }
  const Tensor flat = ravel(chosen);
  const Tensor place = where(flat, cumsum(flat, 0) - 1, 0);
  return reshape(where(flat, gather(ravel(source), 0, place), ravel(base)), common);
}

namespace {

/// Where the index tuples lie in the flattened first k axes, and the shape of what they name.
struct Places {
  Tensor flat;  // rank 1
  Shape index_shape;
  Shape slice;
  int64_t rows;
};

Places places_of(std::string_view function, const Tensor& x, const Tensor& index) {
  require_index(function, index);
  const int64_t depth = index.rank() == 0 ? 0 : index.size(-1);
  if (index.rank() == 0 || depth < 1 || depth > x.rank()) {
    refuse(function,
           str_cat("the index ", index.shape().str(), " does not name axes of ", x.shape().str()));
  }
  Places places{{}, index.shape(), {}, 1};
  places.index_shape.sizes().pop_back();
  for (int64_t axis = depth; axis < x.rank(); ++axis) places.slice.sizes().push_back(x.size(axis));
  for (int64_t axis = 0; axis < depth; ++axis) {
    const Tensor along = ravel(select(index, -1, axis));
    // An index out of its own axis must not fall into another row: it leaves the whole range.
    const Tensor outside = logical_or(along < 0, along >= x.size(axis));
    const Tensor safe = where(outside, int64_t{-1}, along);
    const Tensor step = axis == 0 ? safe : places.flat * x.size(axis) + safe;
    places.flat = axis == 0 ? step : where(logical_or(outside, places.flat < 0), int64_t{-1}, step);
    places.rows *= x.size(axis);
  }
  return places;
}

/// Shapes joined.
Shape joined(const Shape& first, const Shape& second) {
  Shape result = first;
  for (const int64_t size : second.sizes()) result.sizes().push_back(size);
  return result;
}

}  // namespace

Tensor gather_nd(const Tensor& x, const Tensor& index) {
  const CallScope scope;
  const Places places = places_of("gather_nd", x, index);
  const Tensor rows = reshape(x, joined({places.rows}, places.slice));
  return reshape(index_select(rows, 0, places.flat), joined(places.index_shape, places.slice));
}

Tensor scatter_nd(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  const CallScope scope;
  const Places places = places_of("scatter_nd", x, index);
  const Shape expected = joined(places.index_shape, places.slice);
  if (source.shape() != expected) {
    refuse("scatter_nd", str_cat("the source is ", source.shape().str(), "; index and tensor want ",
                                 expected.str()));
  }
  const Tensor rows = reshape(x, joined({places.rows}, places.slice));
  const Tensor values = reshape(source, joined({places.flat.numel()}, places.slice));
  const Tensor result = accumulate ? index_add(rows, 0, places.flat, values)
                                   : index_copy(rows, 0, places.flat, values);
  return reshape(result, x.shape());
}

}  // namespace remora
