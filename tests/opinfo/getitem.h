// Python's x[..] as the library's functions: for the cases of `__getitem__`.
#pragma once

#include "client/bindings/argument.h"
#include "client/tensor.h"

namespace remora::opinfo {

/// x[index]. A slice is the list ["slice", start, stop, step], an ellipsis the text "ellipsis", an
/// index list a list of integers. A list of these is a tuple, but for two integers, which are one
/// index list. Throws INVALID_ARGUMENT for anything else.
Tensor getitem(const Tensor& x, const bindings::Argument& index);

}  // namespace remora::opinfo
