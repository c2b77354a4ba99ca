// What functions with index operands check and arrange alike.
#pragma once

#include <string_view>

#include "client/tensor.h"

namespace remora {

/// INVALID_ARGUMENT naming `function` unless the index is i64.
void require_index(std::string_view function, const Tensor& index);
/// The first elements of `x` along each axis, as many as `shape` has.
Tensor corner(const Tensor& x, const Shape& shape);
/// A rank-1 (or rank-0) index repeated along the other axes of `shape`.
Tensor index_like(std::string_view function, const Tensor& index, const Shape& shape, int64_t axis);

}  // namespace remora
