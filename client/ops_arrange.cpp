// Diagonals, blocks and grids.
#include <algorithm>

#include "client/apply.h"
#include "client/host_list.h"
#include "client/ops.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// bool [rows, columns]: true on the k-th diagonal.
Tensor diagonal_mask(int64_t rows, int64_t columns, int64_t k, const Device& device) {
  const Tensor row = reshape(arange(0, rows, 1, device, DType::kI64), {rows, 1});
  const Tensor column = reshape(arange(0, columns, 1, device, DType::kI64), {1, columns});
  return equal(row + k, column);
}

/// The last axis of x, which is as long as that diagonal, on the k-th diagonal of [.., rows,
/// columns], and copies of it elsewhere: to be selected by a mask.
Tensor spread_over_matrix(const Tensor& x, int64_t rows, int64_t columns, int64_t k) {
  const int64_t size = k >= 0 ? rows : columns;
  const Tensor line = pad(x, Dims{0, size - x.size(-1)});
  return k >= 0 ? unsqueeze(line, -1) : unsqueeze(line, -2);
}

Tensor indices_where(std::string_view function, int64_t rows, int64_t columns, const Device& device,
                     auto&& wanted) {
  if (rows < 0 || columns < 0) {
    refuse(function, str_cat("a matrix of ", rows, " x ", columns, " has a negative size"));
  }
  check_host_list(function, rows, columns);
  std::vector<int64_t> row_index;
  std::vector<int64_t> column_index;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      if (!wanted(row, column)) continue;
      row_index.push_back(row);
      column_index.push_back(column);
    }
  }
  const auto count = static_cast<int64_t>(row_index.size());
  row_index.insert(row_index.end(), column_index.begin(), column_index.end());
  return from_data(row_index, {2, count}, device);
}

int64_t horizontal_axis(const Tensor& x) { return x.rank() == 1 ? 0 : 1; }

std::vector<Tensor> split_evenly(std::string_view function, const Tensor& x, int64_t count,
                                 int64_t axis, int64_t min_rank) {
  if (x.rank() < min_rank) {
    refuse(function,
           str_cat("takes tensors of rank ", min_rank, " or more, not ", x.shape().str()));
  }
  if (count <= 0 || x.size(axis) % count != 0) {
    refuse(function, str_cat("axis ", axis, " of ", x.shape().str(), " does not split into ", count,
                             " equal parts"));
  }
  return tensor_split(x, count, axis);
}

std::vector<Tensor> split_at(std::string_view function, const Tensor& x, const Dims& indices,
                             int64_t axis, int64_t min_rank) {
  if (x.rank() < min_rank) {
    refuse(function,
           str_cat("takes tensors of rank ", min_rank, " or more, not ", x.shape().str()));
  }
  return tensor_split(x, indices, axis);
}

}  // namespace

Tensor diag_embed(const Tensor& x, int64_t k, int64_t axis0, int64_t axis1) {
  const CallScope scope;
  const int64_t rank = x.rank() + 1;
  const int64_t first = normalize_axis("diag_embed", axis0, rank);
  const int64_t second = normalize_axis("diag_embed", axis1, rank);
  if (first == second)
    refuse("diag_embed", str_cat("axes ", axis0, " and ", axis1, " are the same"));
  if (x.rank() == 0) refuse("diag_embed", "takes tensors of rank 1 or more, not a scalar");
  if (k < -dispatch::kMaxElements || k > dispatch::kMaxElements) {
    refuse("diag_embed", str_cat("there is no diagonal ", k));
  }
  const int64_t size = x.size(-1) + (k < 0 ? -k : k);
  const Tensor matrix = where(diagonal_mask(size, size, k, x.device()),
                              spread_over_matrix(x, size, size, k), new_zeros(x, {}));
  return movedim(matrix, Dims{rank - 2, rank - 1}, Dims{first, second});
}

Tensor diag(const Tensor& x, int64_t k) {
  const dispatch::CallName name;
  if (x.rank() == 1) return diag_embed(x, k);
  if (x.rank() == 2) return diagonal(x, k);
  refuse("diag", str_cat("takes vectors and matrices, not ", x.shape().str()));
}

Tensor diagflat(const Tensor& x, int64_t k) {
  const dispatch::CallName name;
  return diag_embed(ravel(x), k);
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& source, int64_t k, int64_t axis0,
                        int64_t axis1) {
  const CallScope scope;
  const Shape wanted = diagonal(x, k, axis0, axis1).shape();
  if (source.shape() != wanted) {
    refuse("diagonal_scatter",
           str_cat("the source is ", source.shape().str(), ", but the diagonal is ", wanted.str()));
  }
  const int64_t rows = x.size(axis0);
  const int64_t columns = x.size(axis1);
  const Tensor matrices = movedim(x, Dims{axis0, axis1}, Dims{-2, -1});
  const Tensor result =
      where(diagonal_mask(rows, columns, k, x.device()),
            astype(spread_over_matrix(source, rows, columns, k), x.dtype()), matrices);
  return movedim(result, Dims{-2, -1}, Dims{axis0, axis1});
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  const CallScope scope;
  if (tensors.empty()) refuse("block_diag", "takes at least one tensor");
  int64_t columns = 0;
  for (const Tensor& block : tensors) {
    if (block.rank() > 2) {
      refuse("block_diag", str_cat("takes tensors up to rank 2, not ", block.shape().str()));
    }
    columns += atleast_2d(block).size(1);
  }
  std::vector<Tensor> rows;
  int64_t before = 0;
  for (const Tensor& block : tensors) {
    const Tensor matrix = atleast_2d(block);
    const int64_t width = matrix.size(1);
    rows.push_back(pad(matrix, Dims{before, columns - before - width}));
    before += width;
  }
  return concat(rows, 0);
}

Tensor tril_indices(int64_t rows, int64_t columns, int64_t k, const Device& device) {
  return indices_where("tril_indices", rows, columns, device,
                       [k](int64_t row, int64_t column) { return column - row <= k; });
}

Tensor triu_indices(int64_t rows, int64_t columns, int64_t k, const Device& device) {
  return indices_where("triu_indices", rows, columns, device,
                       [k](int64_t row, int64_t column) { return column - row >= k; });
}

std::vector<Tensor> hsplit(const Tensor& x, int64_t count) {
  return split_evenly("hsplit", x, count, horizontal_axis(x), 1);
}
std::vector<Tensor> hsplit(const Tensor& x, const Dims& indices) {
  return split_at("hsplit", x, indices, horizontal_axis(x), 1);
}
std::vector<Tensor> vsplit(const Tensor& x, int64_t count) {
  return split_evenly("vsplit", x, count, 0, 2);
}
std::vector<Tensor> vsplit(const Tensor& x, const Dims& indices) {
  return split_at("vsplit", x, indices, 0, 2);
}
std::vector<Tensor> dsplit(const Tensor& x, int64_t count) {
  return split_evenly("dsplit", x, count, 2, 3);
}
std::vector<Tensor> dsplit(const Tensor& x, const Dims& indices) {
  return split_at("dsplit", x, indices, 2, 3);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, std::string_view indexing) {
  const dispatch::CallName name;
  if (indexing != "ij" && indexing != "xy") {
    refuse("meshgrid", str_cat("unknown indexing \"", indexing, "\": it must be ij or xy"));
  }
  const CallScope scope;
  std::vector<Tensor> grids = meshgrid(axes);
  if (indexing == "xy" && axes.size() >= 2) {
    for (Tensor& grid : grids) grid = swapaxes(grid, 0, 1);
  }
  return grids;
}

}  // namespace remora
