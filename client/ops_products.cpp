// Products made of elementwise operations and einsum.
#include <algorithm>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

Tensor cross(const Tensor& x, const Tensor& y, int64_t axis) {
  const CallScope scope;
  if (x.rank() != y.rank()) {
    refuse("cross", str_cat("ranks differ: ", x.shape().str(), " and ", y.shape().str()));
  }
  const int64_t along = normalize_axis("cross", axis, x.rank());
  if (x.rank() == 0 || x.size(along) != 3 || y.size(along) != 3) {
    refuse("cross", str_cat("axis ", axis, " must have size 3 in both ", x.shape().str(), " and ",
                            y.shape().str()));
  }
  const auto rotated = [along](const Tensor& tensor, int64_t by) {
    return roll(tensor, Dims{-by}, Dims{along});
  };
  return rotated(x, 1) * rotated(y, 2) - rotated(x, 2) * rotated(y, 1);
}

Tensor vander(const Tensor& x, std::optional<int64_t> count) {
  const CallScope scope;
  if (x.rank() == 0) return vander(reshape(x, {1}), count);
  const int64_t powers = count.value_or(x.size(-1));
  if (powers <= 1) refuse("vander", str_cat("the number of powers must be above 1, not ", powers));
  const Tensor base = promote_one(x, Domain::kArithmetic);
  Shape shape = base.shape();
  shape.sizes().push_back(powers - 1);
  const Tensor factors = broadcast_to(unsqueeze(base, -1), shape);
  const Tensor first = ones_like(unsqueeze(base, -1));
  return concat({first, cumprod(factors, -1)}, -1);
}

Tensor cdist(const Tensor& x, const Tensor& y, double order) {
  const CallScope scope;
  if (x.rank() < 2 || y.rank() < 2 || x.size(-1) != y.size(-1)) {
    refuse("cdist", str_cat("takes [.., P, M] and [.., R, M], not ", x.shape().str(), " and ",
                            y.shape().str()));
  }
  return vector_norm(unsqueeze(x, -2) - unsqueeze(y, -3), order, -1);
}

Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias) {
  const CallScope scope;
  const Tensor product = einsum("...i,oij,...j->...o", {x, weight, y});
  return bias.defined() ? product + bias : product;
}

}  // namespace remora
