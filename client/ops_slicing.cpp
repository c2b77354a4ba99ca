// Slices of one tensor: parts, reversals, rotations and padding. All end in the catalogue's strided
// box.
#include <algorithm>

#include "client/apply.h"
#include "client/axes.h"
#include "client/limits.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

/// The box of a whole tensor; callers narrow some axes.
dispatch::SliceAttrs whole(const Shape& shape) {
  const auto rank = static_cast<size_t>(shape.rank());
  return {Dims(rank, 0), Dims(rank, 1), shape.sizes()};
}

/// NumPy's rules for start:end:step on an axis of `size` elements.
dispatch::SliceAttrs resolve_slice(std::string_view function, const Shape& shape, int64_t axis,
                                   std::optional<int64_t> start, std::optional<int64_t> end,
                                   int64_t step) {
  if (step == 0) refuse(function, "the step is 0");
  const int64_t along = normalize_axis(function, axis, shape.rank());
  const int64_t size = shape[along];
  // Where a walk may begin and where it ends: outside the axis on the side it walks to.
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? size : size - 1;
  const auto resolve = [&](std::optional<int64_t> bound, int64_t absent) {
    if (!bound) return absent;
    const int64_t index = *bound < 0 ? std::max(*bound, -size - 1) + size : *bound;
    return std::clamp(index, lowest, highest);
  };
  const int64_t first = resolve(start, step > 0 ? lowest : highest);
  const int64_t last = resolve(end, step > 0 ? highest : lowest);
  const int64_t distance = step > 0 ? last - first : first - last;
  // A longer step than the axis takes one element, like any step beyond it; -step then cannot wrap.
  const int64_t stride =
      std::clamp<int64_t>(step, -std::max<int64_t>(size, 1), std::max<int64_t>(size, 1));
  const int64_t magnitude = stride > 0 ? stride : -stride;
  const int64_t count = distance > 0 ? (distance + magnitude - 1) / magnitude : 0;
  dispatch::SliceAttrs attrs = whole(shape);
  const auto i = static_cast<size_t>(along);
  attrs.starts[i] = count > 0 ? first : 0;
  attrs.steps[i] = count > 0 ? stride : 1;
  attrs.sizes[i] = count;
  return attrs;
}

int64_t resolve_index(std::string_view function, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    refuse(function, str_cat("index ", index, " is outside an axis of ", size, " elements"));
  }
  return index < 0 ? index + size : index;
}

Tensor take_box(const Tensor& x, const dispatch::SliceAttrs& attrs) {
  if (attrs == whole(x.shape())) return x;
  return apply(OpCode::slice, {x}, attrs);
}

}  // namespace

Tensor slice(const Tensor& x, int64_t axis, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  return take_box(x, resolve_slice("slice", x.shape(), axis, start, end, step));
}

Tensor narrow(const Tensor& x, int64_t axis, int64_t start, int64_t length) {
  const int64_t along = normalize_axis("narrow", axis, x.rank());
  const int64_t size = x.size(along);
  const int64_t first = start < 0 && start >= -size ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first) {
    refuse("narrow", str_cat(length, " elements from ", start, " leave an axis of ", size));
  }
  dispatch::SliceAttrs attrs = whole(x.shape());
  attrs.starts[static_cast<size_t>(along)] = length > 0 ? first : 0;
  attrs.sizes[static_cast<size_t>(along)] = length;
  return take_box(x, attrs);
}

Tensor select(const Tensor& x, int64_t axis, int64_t index) {
  const CallScope scope;
  const int64_t along = normalize_axis("select", axis, x.rank());
  const int64_t at = resolve_index("select", index, x.size(along));
  return squeeze(narrow(x, along, at, 1), along);
}

Tensor slice_assign(const Tensor& x, const Operand& source, int64_t axis,
                    std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const CallScope scope;
  const auto attrs = resolve_slice("slice_assign", x.shape(), axis, start, end, step);
  const Tensor values = broadcast_to(materialize(source, x, x.dtype()), Shape(attrs.sizes));
  return apply(OpCode::slice_assign, {x, values}, attrs);
}

Tensor select_scatter(const Tensor& x, const Tensor& source, int64_t axis, int64_t index) {
  const CallScope scope;
  const int64_t along = normalize_axis("select_scatter", axis, x.rank());
  const int64_t at = resolve_index("select_scatter", index, x.size(along));
  Shape expected = x.shape();
  expected.sizes().erase(expected.sizes().begin() + along);
  if (source.shape() != expected) {
    refuse("select_scatter",
           str_cat("the source is ", source.shape().str(), ", the selection ", expected.str()));
  }
  return slice_assign(x, unsqueeze(source, along), along, at, at + 1);
}

Tensors split(const Tensor& x, const Dims& sizes, int64_t axis) {
  const CallScope scope;
  const int64_t along = normalize_axis("split", axis, x.rank());
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > x.size(along)) {
      refuse("split", str_cat("a part of ", size, " elements of an axis of ", x.size(along)));
    }
    total += size;
  }
  if (total != x.size(along)) {
    refuse("split",
           str_cat("parts of ", total, " elements together, the axis has ", x.size(along)));
  }
  Tensors parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    parts.push_back(narrow(x, along, start, size));
    start += size;
  }
  return parts;
}

namespace {

void check_part_count(std::string_view function, int64_t count) {
  if (count > kMaxParts) {
    refuse(function, str_cat(count, " parts exceed the limit of ", kMaxParts));
  }
}

}  // namespace

Tensors split(const Tensor& x, int64_t size, int64_t axis) {
  const int64_t along = normalize_axis("split", axis, x.rank());
  const int64_t length = x.size(along);
  if (size < 0 || (size == 0 && length != 0)) {
    refuse("split", str_cat("parts of ", size, " elements of an axis of ", length));
  }
  const int64_t count = size == 0 ? 1 : std::max<int64_t>(1, (length - 1) / size + (length > 0));
  check_part_count("split", count);
  Dims sizes(static_cast<size_t>(count), size);
  sizes.back() = length - size * (count - 1);
  return split(x, sizes, axis);
}

Tensors chunk(const Tensor& x, int64_t count, int64_t axis) {
  const dispatch::CallName name;
  if (count < 1) refuse("chunk", str_cat("the number of chunks is ", count));
  const int64_t along = normalize_axis("chunk", axis, x.rank());
  const int64_t length = x.size(along);
  if (length == 0) {
    check_part_count("chunk", count);
    return split(x, Dims(static_cast<size_t>(count), 0), axis);
  }
  return split(x, (length - 1) / count + 1, axis);
}

Tensors tensor_split(const Tensor& x, int64_t count, int64_t axis) {
  const dispatch::CallName name;
  if (count < 1) refuse("tensor_split", str_cat("the number of parts is ", count));
  check_part_count("tensor_split", count);
  const int64_t length = x.size(normalize_axis("tensor_split", axis, x.rank()));
  Dims sizes;
  for (int64_t i = 0; i < count; ++i)
    sizes.push_back(length / count + (i < length % count ? 1 : 0));
  return split(x, sizes, axis);
}

Tensors tensor_split(const Tensor& x, const Dims& indices, int64_t axis) {
  const CallScope scope;
  Tensors parts;
  int64_t start = 0;
  for (const int64_t end : indices) {
    parts.push_back(slice(x, axis, start, end));
    start = end;
  }
  parts.push_back(slice(x, axis, start));
  return parts;
}

Tensors unbind(const Tensor& x, int64_t axis) {
  const CallScope scope;
  const int64_t along = normalize_axis("unbind", axis, x.rank());
  check_part_count("unbind", x.size(along));
  Tensors parts;
  for (int64_t i = 0; i < x.size(along); ++i) parts.push_back(select(x, along, i));
  return parts;
}

Tensor flip(const Tensor& x, const Axes& axes) {
  dispatch::SliceAttrs attrs = whole(x.shape());
  for (const int64_t axis : normalize_axes("flip", axes, x.rank())) {
    const auto i = static_cast<size_t>(axis);
    if (attrs.sizes[i] < 2) continue;
    attrs.starts[i] = attrs.sizes[i] - 1;
    attrs.steps[i] = -1;
  }
  return take_box(x, attrs);
}

Tensor fliplr(const Tensor& x) {
  const dispatch::CallName name;
  if (x.rank() < 2) refuse("fliplr", str_cat("takes at least two axes, not ", x.shape().str()));
  return flip(x, 1);
}
Tensor flipud(const Tensor& x) {
  const dispatch::CallName name;
  if (x.rank() < 1) refuse("flipud", "takes at least one axis");
  return flip(x, 0);
}

Tensor rot90(const Tensor& x, int64_t times, const Dims& axes) {
  const CallScope scope;
  if (axes.size() != 2) refuse("rot90", str_cat("takes two axes, not ", axes.size()));
  const int64_t first = normalize_axis("rot90", axes[0], x.rank());
  const int64_t second = normalize_axis("rot90", axes[1], x.rank());
  if (first == second) refuse("rot90", str_cat("axis ", first, " is named twice"));
  switch (((times % 4) + 4) % 4) {
    case 1:
      return swapaxes(flip(x, second), first, second);
    case 2:
      return flip(x, {first, second});
    case 3:
      return flip(swapaxes(x, first, second), second);
    default:
      return x;
  }
}

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& axes) {
  const CallScope scope;
  if (axes.empty()) {
    if (shifts.size() != 1) refuse("roll", str_cat(shifts.size(), " shifts without axes"));
    return reshape(roll(ravel(x), shifts, {0}), x.shape());
  }
  if (shifts.size() != axes.size()) {
    refuse("roll", str_cat(shifts.size(), " shifts for ", axes.size(), " axes"));
  }
  Tensor result = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = normalize_axis("roll", axes[i], x.rank());
    const int64_t size = x.size(axis);
    if (size == 0) continue;
    const int64_t shift = ((shifts[i] % size) + size) % size;
    if (shift == 0) continue;
    result = concat(
        {narrow(result, axis, size - shift, shift), narrow(result, axis, 0, size - shift)}, axis);
  }
  return result;
}

Tensor diagonal(const Tensor& x, int64_t k, int64_t axis0, int64_t axis1) {
  const CallScope scope;
  const int64_t row = normalize_axis("diagonal", axis0, x.rank());
  const int64_t column = normalize_axis("diagonal", axis1, x.rank());
  if (row == column) refuse("diagonal", str_cat("axis ", row, " is named twice"));
  const Tensor moved = movedim(x, {row, column}, {-2, -1});
  const int64_t rows = moved.size(-2);
  const int64_t columns = moved.size(-1);
  const int64_t first_row = std::min(std::max<int64_t>(0, -k), rows);
  const int64_t first_column = std::min(std::max<int64_t>(0, k), columns);
  const int64_t count = std::min(rows - first_row, columns - first_column);
  // In the flattened plane the diagonal's elements lie columns + 1 apart.
  const Tensor flat = flatten(moved, -2, -1);
  const int64_t first = first_row * columns + first_column;
  if (count <= 0) return narrow(flat, -1, 0, 0);
  return slice(flat, -1, first, first + (count - 1) * (columns + 1) + 1, columns + 1);
}

Tensor pad(const Tensor& x, const Dims& widths, Scalar value) {
  const CallScope scope;
  if (widths.size() % 2 != 0 || static_cast<int64_t>(widths.size() / 2) > x.rank()) {
    refuse("pad", str_cat(widths.size(), " widths for a tensor of rank ", x.rank(),
                          "; a pair is needed for each padded axis"));
  }
  Tensor source = x;
  Shape shape = x.shape();
  dispatch::SliceAttrs attrs = whole(shape);
  for (size_t i = 0; i + 1 < widths.size(); i += 2) {
    const int64_t axis = x.rank() - 1 - static_cast<int64_t>(i / 2);
    const int64_t before = widths[i];
    const int64_t after = widths[i + 1];
    const int64_t size = x.size(axis);
    const int64_t kept_from = before < 0 ? -std::max(before, -size - 1) : 0;
    const int64_t kept = size - kept_from - (after < 0 ? -std::max(after, -size - 1) : 0);
    if (before < -size || after < -size || kept < 0) {
      refuse("pad", str_cat("widths ", before, " and ", after, " cut more than the ", size,
                            " elements of axis ", axis));
    }
    if (before > dispatch::kMaxElements || after > dispatch::kMaxElements) {
      refuse("pad", str_cat("widths ", before, " and ", after, " exceed the limit of ",
                            dispatch::kMaxElements, " elements"));
    }
    source = narrow(source, axis, kept_from, kept);
    shape[axis] = kept + std::max<int64_t>(0, before) + std::max<int64_t>(0, after);
    attrs.starts[static_cast<size_t>(axis)] = kept > 0 ? std::max<int64_t>(0, before) : 0;
  }
  if (shape == source.shape()) return source;
  attrs.sizes = source.shape().sizes();
  const Tensor background = full(shape, value, x.device().without_autodiff(), x.dtype());
  return apply(OpCode::slice_assign, {background, source}, attrs);
}

}  // namespace remora
