// Gather, scatter and what composes them.
#include "client/apply.h"
#include "client/index_operand.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

void require_index(std::string_view function, const Tensor& index) {
  if (index.dtype() == DType::kI64) return;
  refuse(function, str_cat("the index is ", dtype_name(index.dtype()), "; it must be i64"));
}

Tensor corner(const Tensor& x, const Shape& shape) {
  Tensor result = x;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < x.size(axis)) result = narrow(result, axis, 0, shape[axis]);
  }
  return result;
}

Tensor index_like(std::string_view function, const Tensor& index, const Shape& shape,
                  int64_t axis) {
  require_index(function, index);
  if (index.rank() > 1) {
    refuse(function, str_cat("the index has rank ", index.rank(), "; it must have rank 1"));
  }
  Shape column(Dims(static_cast<size_t>(shape.rank()), 1));
  column[axis] = index.numel();
  Shape repeated = shape;
  repeated[axis] = index.numel();
  return broadcast_to(reshape(index, column), repeated);
}

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const CallScope scope;
  require_index("gather", index);
  if (x.rank() == 0) {
    normalize_axis("gather", axis, 1);
    return reshape(gather(reshape(x, {1}), 0, ravel(index)), index.shape());
  }
  const int64_t along = normalize_axis("gather", axis, x.rank());
  return apply(OpCode::gather, {x, index}, dispatch::AxisAttrs{along});
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const CallScope scope;
  require_index("scatter_add", index);
  if (x.dtype() != source.dtype()) {
    refuse("scatter_add", str_cat("the source is ", dtype_name(source.dtype()), ", the tensor ",
                                  dtype_name(x.dtype())));
  }
  if (x.dtype() == DType::kBool) {  // addition is or
    const DType counts = DType::kI64;
    return not_equal(scatter_add(astype(x, counts), axis, index, astype(source, counts)), 0);
  }
  if (x.rank() == 0) {
    normalize_axis("scatter_add", axis, 1);
    return reshape(scatter_add(reshape(x, {1}), 0, ravel(index), ravel(source)), {});
  }
  const int64_t along = normalize_axis("scatter_add", axis, x.rank());
  bool fits = source.rank() == index.rank();
  for (int64_t i = 0; fits && i < index.rank(); ++i) fits = index.size(i) <= source.size(i);
  if (!fits) {
    refuse("scatter_add", str_cat("the index ", index.shape().str(), " is longer than the source ",
                                  source.shape().str()));
  }
  return apply(OpCode::scatter_add, {x, index, corner(source, index.shape())},
               dispatch::AxisAttrs{along});
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> axis) {
  const CallScope scope;
  require_index("take_along_dim", index);
  if (!axis) return gather(ravel(x), 0, ravel(index));
  if (x.rank() != index.rank()) {
    refuse("take_along_dim",
           str_cat("the index has rank ", index.rank(), ", the tensor rank ", x.rank()));
  }
  const int64_t along = normalize_axis("take_along_dim", *axis, x.rank());
  Shape x_rest = x.shape();
  Shape index_rest = index.shape();
  x_rest[along] = index_rest[along] = 1;
  Shape common = common_shape("take_along_dim", x_rest, index_rest);
  common[along] = x.size(along);
  const Tensor source = broadcast_to(x, common);
  common[along] = index.size(along);
  return gather(source, along, broadcast_to(index, common));
}

Tensor take(const Tensor& x, const Tensor& index) {
  const CallScope scope;
  require_index("take", index);
  const Tensor positive = where(index < 0, index + x.numel(), index);
  return reshape(gather(ravel(x), 0, ravel(positive)), index.shape());
}

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index) {
  const CallScope scope;
  if (x.rank() == 0) {
    normalize_axis("index_select", axis, 1);
    return reshape(gather(x, 0, index), {});
  }
  const int64_t along = normalize_axis("index_select", axis, x.rank());
  return gather(x, along, index_like("index_select", index, x.shape(), along));
}

Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source,
                 Scalar alpha) {
  const CallScope scope;
  Tensor scaled = alpha == Scalar(1) ? source : source * alpha;
  if (source.dtype() == DType::kBool) scaled = not_equal(scaled, 0);  // multiplication is and
  if (x.rank() == 0) {
    normalize_axis("index_add", axis, 1);
    return scatter_add(x, 0, ravel(index), ravel(scaled));
  }
  const int64_t along = normalize_axis("index_add", axis, x.rank());
  Shape expected = x.shape();
  expected[along] = index.numel();
  if (source.shape() != expected) {
    refuse("index_add", str_cat("the source is ", source.shape().str(), "; index and tensor want ",
                                expected.str()));
  }
  return scatter_add(x, along, index_like("index_add", index, x.shape(), along), scaled);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  const CallScope scope;
  if (value.is_tensor() && value.tensor().rank() != 0) {
    refuse("masked_fill", str_cat("the value has shape ", value.tensor().shape().str(),
                                  "; it must be a number or a tensor of rank 0"));
  }
  const DType common = common_dtype("masked_fill", x, value);
  if (is_float(common) != is_float(x.dtype())) {
    refuse("masked_fill", str_cat("a value of ", dtype_name(common), " does not fit a tensor of ",
                                  dtype_name(x.dtype())));
  }
  return where(mask, materialize(value, x, x.dtype()), x);
}

Tensor embedding(const Tensor& weight, const Tensor& index) {
  const CallScope scope;
  if (weight.rank() != 2) {
    refuse("embedding",
           str_cat("the table has shape ", weight.shape().str(), "; it needs two axes"));
  }
  Shape shape = index.shape();
  shape.sizes().push_back(weight.size(1));
  return reshape(index_select(weight, 0, ravel(index)), shape);
}

}  // namespace remora
