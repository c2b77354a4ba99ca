#include "tests/support/values.h"

#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "tests/reference/reference.h"

namespace remora::test {
namespace {

using dispatch::OpCode;
using dispatch::PermuteAttrs;
using dispatch::ShapeAttrs;
using dispatch::SliceAttrs;
using dispatch::Value;

Value view(OpCode code, const Value& base, const dispatch::Attrs& attrs) {
  return dispatch::submit(code, std::span(&base, 1), attrs)[0];
}

Value transposed(const Device& device, const reference::Array& array) {
  PermuteAttrs reversal;
  for (int64_t axis = array.rank() - 1; axis >= 0; --axis) reversal.axes.push_back(axis);
  const reference::Array base = reference::evaluate("permute", {array}, reversal)[0];
  return view(OpCode::permute, dispatch::upload(device, reference::to_host(base)), reversal);
}

Value reversed(const Device& device, const reference::Array& array) {
  SliceAttrs backwards;
  for (const int64_t size : array.spec.shape.sizes()) {
    backwards.starts.push_back(size == 0 ? 0 : size - 1);
    backwards.steps.push_back(-1);
    backwards.sizes.push_back(size);
  }
  const reference::Array base = reference::evaluate("slice", {array}, backwards)[0];
  return view(OpCode::slice, dispatch::upload(device, reference::to_host(base)), backwards);
}

Value strided(const Device& device, const reference::Array& array) {
  SliceAttrs every_second;
  Shape larger = array.spec.shape;
  for (int64_t axis = 0; axis < array.rank(); ++axis) {
    every_second.starts.push_back(1);
    every_second.steps.push_back(2);
    every_second.sizes.push_back(larger[axis]);
    larger[axis] = 2 * larger[axis] + 2;
  }
  reference::Array base({array.spec.dtype, larger});
  for (double& element : base.reals) element = 77.0;
  for (int64_t& element : base.integers) element = 1;
  base = reference::evaluate("slice_assign", {base, array}, every_second)[0];
  return view(OpCode::slice, dispatch::upload(device, reference::to_host(base)), every_second);
}

/// The array's part at 0 of axis 0, axis kept.
reference::Array first_part(const reference::Array& array) {
  SliceAttrs first;
  for (const int64_t size : array.spec.shape.sizes()) {
    first.starts.push_back(0);
    first.steps.push_back(1);
    first.sizes.push_back(size);
  }
  first.sizes[0] = 1;
  return reference::evaluate("slice", {array}, first)[0];
}

bool can_expand(const reference::Array& array) {
  return array.rank() > 0 && array.spec.shape[0] > 0;
}

Value expanded(const Device& device, const reference::Array& array) {
  const Value base = dispatch::upload(device, reference::to_host(first_part(array)));
  return view(OpCode::broadcast_to, base, ShapeAttrs{array.spec.shape});
}

}  // namespace

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kReversed:
      return "reversed";
    case Layout::kStrided:
      return "strided";
    case Layout::kExpanded:
      return "expanded";
  }
  return "?";
}

reference::Array repeat_first(const reference::Array& array) {
  if (!can_expand(array)) return array;
  return reference::broadcast(first_part(array), array.spec.shape);
}

Value place(const Device& device, const reference::Array& array, Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      break;
    case Layout::kTransposed:
      return transposed(device, array);
    case Layout::kReversed:
      return reversed(device, array);
    case Layout::kStrided:
      return strided(device, array);
    case Layout::kExpanded:
      if (can_expand(array)) return expanded(device, array);
      break;
  }
  return dispatch::upload(device, reference::to_host(array));
}

std::vector<Value> place_all(const Device& device, std::span<const reference::Array> arrays,
                             Layout layout) {
  std::vector<Value> values;
  for (const reference::Array& array : arrays) values.push_back(place(device, array, layout));
  return values;
}

std::vector<dispatch::HostData> read_all(std::span<const Value> values) {
  std::vector<dispatch::HostData> read;
  for (const Value& value : values) read.push_back(dispatch::read(value));
  return read;
}

}  // namespace remora::test
