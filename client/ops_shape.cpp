// Shapes: the same elements in another arrangement.
#include <algorithm>

#include "client/apply.h"
#include "client/axes.h"
#include "client/ops.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

/// `shape` with its -1, if any, replaced by what the other sizes leave of `count` elements.
Shape resolve_shape(std::string_view function, const Shape& shape, int64_t count) {
  int64_t unknown = -1;
  int64_t known = 1;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t size = shape[axis];
    if (size == -1 && unknown < 0) {
      unknown = axis;
      continue;
    }
    if (size < -1) {
      refuse(function, str_cat("sizes ", shape.str(), ": ", size,
                               " is no size; a size is at least 0, or -1 to be inferred"));
    }
    if (size < 0) refuse(function, str_cat("sizes ", shape.str(), ": at most one may be -1"));
    if (size != 0 && known > dispatch::kMaxElements / size) refuse(function, "too many elements");
    known *= size;
  }
  Shape resolved = shape;
  if (unknown >= 0) {
    if (known == 0 || count % known != 0) {
      refuse(function, str_cat(count, " elements do not fill the shape ", shape.str()));
    }
    resolved[unknown] = count / known;
  }
  return resolved;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Shape resolved = resolve_shape("reshape", shape, x.numel());
  if (resolved == x.shape()) return x;
  return apply(OpCode::reshape, {x}, dispatch::ShapeAttrs{resolved});
}

Tensor view(const Tensor& x, const Shape& shape) {
  const CallScope scope;
  return reshape(x, shape);
}

Tensor flatten(const Tensor& x, int64_t start_axis, int64_t end_axis) {
  if (x.rank() == 0) return reshape(x, {1});
  const int64_t first = normalize_axis("flatten", start_axis, x.rank());
  const int64_t last = normalize_axis("flatten", end_axis, x.rank());
  if (first > last) refuse("flatten", str_cat("axis ", start_axis, " lies after axis ", end_axis));
  Shape shape;
  int64_t merged = 1;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis >= first && axis <= last) merged *= x.size(axis);
    if (axis < first || axis > last) shape.sizes().push_back(x.size(axis));
    if (axis == last) shape.sizes().push_back(merged);
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes) {
  const int64_t split = normalize_axis("unflatten", axis, x.rank());
  const Shape parts = resolve_shape("unflatten", sizes, x.size(split));
  if (parts.numel() != x.size(split)) {
    refuse("unflatten", str_cat("sizes ", sizes.str(), " do not multiply to ", x.size(split)));
  }
  Shape shape;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != split) {
      shape.sizes().push_back(x.size(i));
    } else {
      for (const int64_t size : parts.sizes()) shape.sizes().push_back(size);
    }
  }
  return reshape(x, shape);
}

Tensor ravel(const Tensor& x) {
  const dispatch::CallName name;
  return reshape(x, {x.numel()});
}

Tensor squeeze(const Tensor& x, const Axes& axes) {
  const Dims removed = normalize_axes("squeeze", axes, x.rank());
  Shape shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool drop = x.size(axis) == 1 && std::ranges::binary_search(removed, axis);
    if (!drop) shape.sizes().push_back(x.size(axis));
  }
  return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, int64_t axis) {
  const int64_t at = normalize_axis("unsqueeze", axis, x.rank() + 1);
  Shape shape = x.shape();
  shape.sizes().insert(shape.sizes().begin() + at, 1);
  return reshape(x, shape);
}

Tensor permute(const Tensor& x, const Dims& axes) {
  if (static_cast<int64_t>(axes.size()) != x.rank()) {
    refuse("permute", str_cat(axes.size(), " axes for a tensor of rank ", x.rank()));
  }
  Dims order;
  bool identity = true;
  for (const int64_t axis : axes) {
    identity = identity && (axis == static_cast<int64_t>(order.size()));
    order.push_back(normalize_axis("permute", axis, x.rank()));
  }
  if (identity) return x;
  return apply(OpCode::permute, {x}, dispatch::PermuteAttrs{order});
}

Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) {
  if (x.rank() == 0) {
    normalize_axis("swapaxes", axis0, 1);
    normalize_axis("swapaxes", axis1, 1);
    return x;
  }
  Dims order;
  for (int64_t axis = 0; axis < x.rank(); ++axis) order.push_back(axis);
  std::swap(order[static_cast<size_t>(normalize_axis("swapaxes", axis0, x.rank()))],
            order[static_cast<size_t>(normalize_axis("swapaxes", axis1, x.rank()))]);
  return permute(x, order);
}

Tensor transpose(const Tensor& x, int64_t axis0, int64_t axis1) {
  const dispatch::CallName name;
  return swapaxes(x, axis0, axis1);
}

Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination) {
  if (source.size() != destination.size()) {
    refuse("movedim",
           str_cat(source.size(), " source axes and ", destination.size(), " destinations"));
  }
  const auto rank = static_cast<size_t>(x.rank());
  Dims order(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = normalize_axis("movedim", source[i], x.rank());
    const int64_t to = normalize_axis("movedim", destination[i], x.rank());
    if (moved[static_cast<size_t>(from)] || order[static_cast<size_t>(to)] >= 0) {
      refuse("movedim", "an axis is named twice");
    }
    moved[static_cast<size_t>(from)] = true;
    order[static_cast<size_t>(to)] = from;
  }
  int64_t next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (moved[static_cast<size_t>(next)]) ++next;
    axis = next++;
  }
  return permute(x, order);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return apply(OpCode::broadcast_to, {x}, dispatch::ShapeAttrs{shape});
}

Tensors broadcast_tensors(const Tensors& tensors) {
  const CallScope scope;
  Shape shape;
  for (const Tensor& tensor : tensors) {
    shape = common_shape("broadcast_tensors", shape, tensor.shape());
  }
  Tensors result;
  for (const Tensor& tensor : tensors) result.push_back(broadcast_to(tensor, shape));
  return result;
}

Tensor expand(const Tensor& x, const Shape& shape) {
  const dispatch::CallName name;
  Shape full = shape;
  const int64_t extra = shape.rank() - x.rank();
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != -1) continue;
    if (axis < extra) refuse("expand", str_cat("-1 for the new axis ", axis, " of ", shape.str()));
    full[axis] = x.size(axis - extra);
  }
  return broadcast_to(x, full);
}

namespace {

/// x with leading axes of size 1 up to `rank`.
Tensor with_rank(const Tensor& x, int64_t rank) {
  if (x.rank() >= rank) return x;
  Dims sizes(static_cast<size_t>(rank - x.rank()), 1);
  sizes.insert(sizes.end(), x.shape().sizes().begin(), x.shape().sizes().end());
  return reshape(x, Shape(sizes));
}

}  // namespace

Tensor repeat(const Tensor& x, const Dims& counts) {
  const CallScope scope;
  const auto rank = static_cast<int64_t>(counts.size());
  if (rank < x.rank()) {
    refuse("repeat",
           str_cat(rank, " counts for a tensor of rank ", x.rank(), "; tile takes fewer"));
  }
  const Tensor base = with_rank(x, rank);
  // Each axis becomes (count, size), is broadcast, and is merged again.
  Shape split, spread, merged;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t count = counts[static_cast<size_t>(axis)];
    const int64_t size = base.size(axis);
    if (count < 0)
      refuse("repeat", str_cat("the count ", count, " of axis ", axis, " is negative"));
    if (count == 1) {
      split.sizes().push_back(size);
      spread.sizes().push_back(size);
    } else {
      split.sizes().insert(split.sizes().end(), {1, size});
      spread.sizes().insert(spread.sizes().end(), {count, size});
    }
    if (size != 0 && count > dispatch::kMaxElements / size) refuse("repeat", "too many elements");
    merged.sizes().push_back(count * size);
  }
  return reshape(broadcast_to(reshape(base, split), spread), merged);
}

Tensor tile(const Tensor& x, const Dims& counts) {
  const dispatch::CallName name;
  Dims padded = counts;
  if (static_cast<int64_t>(padded.size()) < x.rank()) {
    padded.insert(padded.begin(), static_cast<size_t>(x.rank()) - padded.size(), 1);
  }
  return repeat(x, padded);
}

Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis) {
  const CallScope scope;
  if (count < 0) refuse("repeat_interleave", str_cat("the count ", count, " is negative"));
  const Tensor source = axis ? x : ravel(x);
  const int64_t along = normalize_axis("repeat_interleave", axis.value_or(0), source.rank());
  Shape spread = source.shape();
  spread.sizes().insert(spread.sizes().begin() + along + 1, count);
  Shape merged = source.shape();
  merged[along] *= count;
  return reshape(broadcast_to(unsqueeze(source, along + 1), spread), merged);
}

Tensor contiguous(const Tensor& x) { return x; }

Tensor atleast_1d(const Tensor& x) {
  const dispatch::CallName name;
  return with_rank(x, 1);
}
Tensor atleast_2d(const Tensor& x) {
  const dispatch::CallName name;
  return with_rank(x, 2);
}
Tensor atleast_3d(const Tensor& x) {
  const dispatch::CallName name;
  if (x.rank() >= 3) return x;
  return unsqueeze(atleast_2d(x), 2);
}

}  // namespace remora
