// Putting elements where an index says. The rules of ops.h hold: index tensors are i64, their
// values are checked when the op runs, and where an index occurs twice the last one in index order
// wins, in the gradient too.
#pragma once

#include <string_view>
#include <vector>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// x with `source` put at `index` along `axis`; a number is put everywhere.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Operand& source);
/// x combined with `source` at `index` along `axis`: "sum", "prod", "mean", "amin" or "amax".
/// Without `include_self` the elements of x that are met do not count. Extremes share the gradient
/// evenly among equals; the mean of integers is rounded down.
Tensor scatter_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source,
                      std::string_view reduction, bool include_self = true);
/// x with the slices of `axis` at a rank-1 index replaced by those of `source`, by a number, or
/// combined with those of `source` as `scatter_reduce` does.
Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, int64_t axis, const Tensor& index, const Operand& value);
Tensor index_reduce(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source,
                    std::string_view reduction, bool include_self = true);
/// x with the elements where `mask` (bool, broadcast) holds replaced by those of `source`, in
/// row-major order. Too few of them are an error of the op.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

/// x[index[.., 0], .., index[.., k - 1]] for an index [.., k] into the first k axes.
Tensor gather_nd(const Tensor& x, const Tensor& index);
/// x with `source` put there, or added.
Tensor scatter_nd(const Tensor& x, const Tensor& index, const Tensor& source,
                  bool accumulate = false);
/// x[i, j, ..]: one tensor for each of the first axes, broadcast with each other: i64 indices,
/// negative ones counting from the end, or bool masks, which take as many axes as they have and
/// read one number each. An undefined tensor takes the whole axis; the indexed axes come first
/// unless they are neighbours, as in NumPy.
Tensor index(const Tensor& x, const std::vector<Tensor>& indices);
/// x with `values`, broadcast to `index(x, indices)`, put there, or added.
Tensor index_put(const Tensor& x, const std::vector<Tensor>& indices, const Operand& values,
                 bool accumulate = false);

}  // namespace remora
