// Indexing by tensors, one for each axis, as NumPy does it.
#include "client/apply.h"
#include "client/index_operand.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// Indices with every mask replaced by the positions where it holds; undefined ones stand for whole
/// axes. Masks are read, so no CallScope may be open.
std::vector<Tensor> without_masks(std::string_view function, const Tensor& x,
                                  const std::vector<Tensor>& indices) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices) {
    if (!index.defined() || index.dtype() != DType::kBool) {
      if (index.defined()) require_index(function, index);
      result.push_back(index);
      continue;
    }
    const auto first = static_cast<int64_t>(result.size());
    for (int64_t axis = 0; axis < index.rank(); ++axis) {
      if (first + axis >= x.rank() || index.size(axis) != x.size(first + axis)) {
        refuse(function, str_cat("a mask of ", index.shape().str(), " does not fit axis ",
                                 first + axis, " of ", x.shape().str()));
      }
    }
    for (const Tensor& axis : nonzero_by_axis(index)) result.push_back(axis);
  }
  if (static_cast<int64_t>(result.size()) > x.rank()) {
    refuse(function, str_cat(result.size(), " indices for ", x.shape().str()));
  }
  return result;
}

/// The indexed axes first, as an index of tuples.
struct Selection {
  Dims axes;      // indexed
  Tensor tuples;  // [.., axes]
  bool adjacent = true;

  Selection(std::string_view function, const Tensor& x, const std::vector<Tensor>& indices) {
    std::vector<Tensor> wrapped;
    Shape common;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!indices[i].defined()) continue;
      const auto axis = static_cast<int64_t>(i);
      adjacent &= axes.empty() || axes.back() == axis - 1;
      axes.push_back(axis);
      const absl::StatusOr<Shape> both = broadcast_shapes(common, indices[i].shape());
      if (!both.ok()) refuse(function, std::string(both.status().message()));
      common = *both;
      wrapped.push_back(where(indices[i] < 0, indices[i] + x.size(axis), indices[i]));
    }
    if (axes.empty()) refuse(function, "no axis is indexed");
    for (Tensor& index : wrapped) index = broadcast_to(index, common);
    tuples = stack(wrapped, -1);
  }
  /// Axis numbers 0, 1, ..: where the indexed axes go.
  Dims front() const {
    Dims result;
    for (size_t i = 0; i < axes.size(); ++i) result.push_back(static_cast<int64_t>(i));
    return result;
  }
  /// Where the axes of the tuples stand in the result, if not in front.
  Dims moved() const {
    Dims result;
    for (int64_t i = 0; i + 1 < tuples.rank(); ++i) result.push_back(axes[0] + i);
    return result;
  }
  Dims leading() const {
    Dims result;
    for (int64_t i = 0; i + 1 < tuples.rank(); ++i) result.push_back(i);
    return result;
  }
};

}  // namespace

Tensor index(const Tensor& x, const std::vector<Tensor>& indices) {
  const dispatch::CallName name;
  const std::vector<Tensor> positions = without_masks("index", x, indices);
  const CallScope scope;
  const Selection selection("index", x, positions);
  const Tensor taken = gather_nd(movedim(x, selection.axes, selection.front()), selection.tuples);
  return selection.adjacent ? movedim(taken, selection.leading(), selection.moved()) : taken;
}

Tensor index_put(const Tensor& x, const std::vector<Tensor>& indices, const Operand& values,
                 bool accumulate) {
  const dispatch::CallName name;
  const std::vector<Tensor> positions = without_masks("index_put", x, indices);
  const CallScope scope;
  const Selection selection("index_put", x, positions);
  const Tensor front = movedim(x, selection.axes, selection.front());
  Shape shape = selection.tuples.shape();
  shape.sizes().pop_back();
  for (int64_t axis = std::ssize(selection.axes); axis < x.rank(); ++axis) {
    shape.sizes().push_back(front.size(axis));
  }
  if (values.is_tensor() && values.tensor().dtype() != x.dtype()) {
    refuse("index_put", str_cat("the values are ", dtype_name(values.tensor().dtype()),
                                ", the tensor ", dtype_name(x.dtype())));
  }
  Tensor source = materialize(values, x, x.dtype());
  if (selection.adjacent) {  // broadcast as they would be read, then moved as x was
    Shape read = shape;
    const auto count = static_cast<size_t>(selection.tuples.rank() - 1);
    const auto at = static_cast<size_t>(selection.axes[0]);
    Dims& sizes = read.sizes();
    std::rotate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count),
                sizes.begin() + static_cast<std::ptrdiff_t>(count + at));
    source = movedim(broadcast_to(source, read), selection.moved(), selection.leading());
  } else {
    source = broadcast_to(source, shape);
  }
  const Tensor result = scatter_nd(front, selection.tuples, source, accumulate);
  return movedim(result, selection.front(), selection.axes);
}

}  // namespace remora
