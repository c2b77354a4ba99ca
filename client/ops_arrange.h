// Operations that arrange elements: diagonals, blocks, borders, windows, grids. The rules of ops.h
// hold; every dtype unless said otherwise.
#pragma once

#include <string_view>
#include <vector>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// The k-th diagonal of a matrix, or a matrix with a vector on its k-th diagonal and zero
/// elsewhere.
Tensor diag(const Tensor& x, int64_t k = 0);
/// The last axis on the k-th diagonal of two new axes, zero elsewhere: [.., n] -> [.., n + |k|, n +
/// |k|].
Tensor diag_embed(const Tensor& x, int64_t k = 0, int64_t axis0 = -2, int64_t axis1 = -1);
/// A matrix with the flattened tensor on its k-th diagonal.
Tensor diagflat(const Tensor& x, int64_t k = 0);
/// x with its k-th diagonal of two axes replaced by `source`, which has the shape of `diagonal`.
Tensor diagonal_scatter(const Tensor& x, const Tensor& source, int64_t k = 0, int64_t axis0 = 0,
                        int64_t axis1 = 1);
/// Matrices along the diagonal, zero elsewhere; a scalar or vector counts as a matrix of one row.
Tensor block_diag(const std::vector<Tensor>& tensors);
/// i64 [2, count]: row and column of each element on and below (tril) or above (triu) the k-th
/// diagonal.
Tensor tril_indices(int64_t rows, int64_t columns, int64_t k = 0,
                    const Device& device = Device::default_device());
Tensor triu_indices(int64_t rows, int64_t columns, int64_t k = 0,
                    const Device& device = Device::default_device());

/// `tensor_split` along axis 1 (0 for a vector), 0 and 2. A count must divide the axis.
std::vector<Tensor> hsplit(const Tensor& x, int64_t count);
std::vector<Tensor> hsplit(const Tensor& x, const Dims& indices);
std::vector<Tensor> vsplit(const Tensor& x, int64_t count);
std::vector<Tensor> vsplit(const Tensor& x, const Dims& indices);
std::vector<Tensor> dsplit(const Tensor& x, int64_t count);
std::vector<Tensor> dsplit(const Tensor& x, const Dims& indices);

/// "ij": as `meshgrid`; "xy": with the first two axes of the grids swapped.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, std::string_view indexing);

enum class PadMode : uint8_t { kConstant, kReflect, kReplicate, kCircular };
/// Padded with a constant, the mirrored inside (without the edge itself, less than a size wide),
/// the edge, or the other end (at most a size wide). `widths` are pairs (before, after), the last
/// axis first.
Tensor pad(const Tensor& x, const Dims& widths, PadMode mode, Scalar value = 0.0);
/// Windows of `size` elements, `step` apart, along `axis`: their number takes the axis's place,
/// their elements are a new last axis.
Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step);
/// Columns of the windows of [N, C, H, W]: [N, C KH KW, number of windows].
Tensor unfold(const Tensor& x, const Extent2d& kernel, const Extent2d& dilation = 1,
              const Extent2d& padding = 0, const Extent2d& stride = 1);
/// The sum of windows where they came from, the adjoint of `unfold`: columns [N, C KH KW, number of
/// windows] to [N, C, H, W], `size` being (H, W). Floats only.
Tensor fold(const Tensor& columns, const Extent2d& size, const Extent2d& kernel,
            const Extent2d& dilation = 1, const Extent2d& padding = 0, const Extent2d& stride = 1);

}  // namespace remora
