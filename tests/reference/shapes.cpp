// Rows that move elements and compute nothing.
#include "dispatch/error.h"
#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::AxisAttrs;
using dispatch::PermuteAttrs;
using dispatch::ShapeAttrs;
using dispatch::SliceAttrs;

Arrays reshape(const Arrays& inputs, const dispatch::Attrs& attrs) {
  Array result = inputs[0];
  result.spec.shape = std::get<ShapeAttrs>(attrs).shape;
  return {result};
}

Arrays broadcast_to(const Arrays& inputs, const dispatch::Attrs& attrs) {
  return {broadcast(inputs[0], std::get<ShapeAttrs>(attrs).shape)};
}

Arrays permute(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const Dims& axes = std::get<PermuteAttrs>(attrs).axes;
  const Array& x = inputs[0];
  Shape shape = x.spec.shape;
  for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<int64_t>(i)] = x.spec.shape[axes[i]];
  Array result({x.spec.dtype, shape});
  for_each(shape, [&](const Dims& index, int64_t to) {
    Dims from(index.size());
    for (size_t i = 0; i < axes.size(); ++i) from[static_cast<size_t>(axes[i])] = index[i];
    copy_element(x, offset_of(x.spec.shape, from), result, to);
  });
  return {result};
}

/// Where element `index` of the box lies in a tensor of `shape`.
int64_t box_offset(const SliceAttrs& box, const Shape& shape, const Dims& index) {
  Dims place;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const int64_t at = box.starts[axis] + index[axis] * box.steps[axis];
    if (at < 0 || at >= shape[static_cast<int64_t>(axis)]) {
      throw Error(absl::InvalidArgumentError("slice: " + std::to_string(at) + " is outside axis " +
                                             std::to_string(axis) + " of " + shape.str()));
    }
    place.push_back(at);
  }
  return offset_of(shape, place);
}

Arrays slice(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& box = std::get<SliceAttrs>(attrs);
  const Array& x = inputs[0];
  Array result({x.spec.dtype, Shape(box.sizes)});
  for_each(result.spec.shape, [&](const Dims& index, int64_t to) {
    copy_element(x, box_offset(box, x.spec.shape, index), result, to);
  });
  return {result};
}

Arrays slice_assign(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& box = std::get<SliceAttrs>(attrs);
  Array result = inputs[0];
  for_each(Shape(box.sizes), [&](const Dims& index, int64_t from) {
    copy_element(inputs[1], from, result, box_offset(box, result.spec.shape, index));
  });
  return {result};
}

Arrays concat(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const int64_t axis = std::get<AxisAttrs>(attrs).axis;
  Shape shape = inputs[0].spec.shape;
  shape[axis] = 0;
  for (const Array& input : inputs) shape[axis] += input.spec.shape[axis];
  Array result({inputs[0].spec.dtype, shape});
  int64_t start = 0;
  for (const Array& input : inputs) {
    for_each(input.spec.shape, [&](const Dims& index, int64_t from) {
      Dims to = index;
      to[static_cast<size_t>(axis)] += start;
      copy_element(input, from, result, offset_of(shape, to));
    });
    start += input.spec.shape[axis];
  }
  return {result};
}

}  // namespace

void add_shapes(Table& table) {
  table["reshape"] = reshape;
  table["permute"] = permute;
  table["broadcast_to"] = broadcast_to;
  table["slice"] = slice;
  table["slice_assign"] = slice_assign;
  table["concat"] = concat;
}

}  // namespace remora::reference
