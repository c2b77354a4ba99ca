// Reductions, and softmax, which is one per row.
#include <cmath>

#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::ArgReduceAttrs;
using dispatch::AxisAttrs;
using dispatch::ReduceAttrs;

/// The place in the result of the input element at `index`: reduced axes vanish, or become 0.
Dims reduced_index(const Dims& index, const Dims& axes, bool keepdims) {
  Dims result;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    bool reduced = false;
    for (const int64_t reduced_axis : axes) reduced |= reduced_axis == static_cast<int64_t>(axis);
    if (!reduced) {
      result.push_back(index[axis]);
    } else if (keepdims) {
      result.push_back(0);
    }
  }
  return result;
}

Shape reduced_shape(const Shape& shape, const Dims& axes, bool keepdims) {
  Dims ones = reduced_index(shape.sizes(), axes, keepdims);
  if (keepdims) {
    for (const int64_t axis : axes) ones[static_cast<size_t>(axis)] = 1;
  }
  return Shape(ones);
}

Arrays sum(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const Dims& axes = std::get<ReduceAttrs>(attrs).axes;
  const bool keepdims = std::get<ReduceAttrs>(attrs).keepdims;
  const Array& x = inputs[0];
  Array result({x.spec.dtype, reduced_shape(x.spec.shape, axes, keepdims)});
  for_each(x.spec.shape, [&](const Dims& index, int64_t from) {
    const auto to =
        static_cast<size_t>(offset_of(result.spec.shape, reduced_index(index, axes, keepdims)));
    if (x.is_real()) {
      result.reals[to] += x.reals[static_cast<size_t>(from)];
    } else {
      result.set_integer(to, result.integer(to) + x.integer(static_cast<size_t>(from)));
    }
  });
  return {result};
}

/// True if element `a` of `x` is above element `b`; a NaN is above every number.
bool above(const Array& x, int64_t a, int64_t b) {
  if (!x.is_real()) {
    return x.integer(static_cast<size_t>(a)) > x.integer(static_cast<size_t>(b));
  }
  const double first = x.reals[static_cast<size_t>(a)];
  const double second = x.reals[static_cast<size_t>(b)];
  return first > second || (std::isnan(first) && !std::isnan(second));
}

/// For each element of the result the offset of the first largest input element; -1 where there is
/// none.
std::vector<int64_t> first_largest(const Array& x, const Shape& shape, const Dims& axes,
                                   bool keepdims) {
  std::vector<int64_t> best(static_cast<size_t>(shape.numel()), -1);
  for_each(x.spec.shape, [&](const Dims& index, int64_t from) {
    int64_t& held =
        best[static_cast<size_t>(offset_of(shape, reduced_index(index, axes, keepdims)))];
    if (held < 0 || above(x, from, held)) held = from;
  });
  return best;
}

Arrays amax(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const Dims& axes = std::get<ReduceAttrs>(attrs).axes;
  const bool keepdims = std::get<ReduceAttrs>(attrs).keepdims;
  const Array& x = inputs[0];
  Array result({x.spec.dtype, reduced_shape(x.spec.shape, axes, keepdims)});
  const std::vector<int64_t> best = first_largest(x, result.spec.shape, axes, keepdims);
  for (size_t i = 0; i < best.size(); ++i)
    copy_element(x, best[i], result, static_cast<int64_t>(i));
  return {result};
}

Arrays argmax(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const int64_t axis = std::get<ArgReduceAttrs>(attrs).axis;
  const bool keepdims = std::get<ArgReduceAttrs>(attrs).keepdims;
  const Array& x = inputs[0];
  Array result({DType::kI64, reduced_shape(x.spec.shape, {axis}, keepdims)});
  const std::vector<int64_t> best = first_largest(x, result.spec.shape, {axis}, keepdims);
  int64_t stride = 1;
  for (int64_t i = axis + 1; i < x.rank(); ++i) stride *= x.spec.shape[i];
  for (size_t i = 0; i < best.size(); ++i) {
    result.integers[i] = best[i] / stride % x.spec.shape[axis];
  }
  return {result};
}

Arrays softmax(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const int64_t axis = std::get<AxisAttrs>(attrs).axis;
  const Array& x = inputs[0];
  const dispatch::Attrs along = ReduceAttrs{{axis}, true};
  if (x.numel() == 0) return {x};
  const Array largest = broadcast(amax(inputs, along)[0], x.spec.shape);
  Array exponentials(x.spec);
  for (size_t i = 0; i < x.reals.size(); ++i) {
    exponentials.reals[i] = std::exp(x.reals[i] - largest.reals[i]);
  }
  const Array total = broadcast(sum({exponentials}, along)[0], x.spec.shape);
  for (size_t i = 0; i < x.reals.size(); ++i) exponentials.reals[i] /= total.reals[i];
  return {exponentials};
}

}  // namespace

void add_reductions(Table& table) {
  table["sum"] = sum;
  table["amax"] = amax;
  table["argmax"] = argmax;
  table["softmax"] = softmax;
}

}  // namespace remora::reference
