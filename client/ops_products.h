// Products of tensors beyond matmul. The rules of ops.h hold.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// Einstein's summation: labels are letters, "..." stands for axes that broadcast. Without "->" the
/// result has the broadcast axes, then the labels that occur once, in alphabetical order. A label
/// that occurs twice in one operand takes its diagonal. Operands are contracted from left to right,
/// each pair by one matmul.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);
/// Of vectors of 3 along `axis`; the other axes broadcast, the ranks must be equal.
Tensor cross(const Tensor& x, const Tensor& y, int64_t axis = -1);
/// 1, x, x^2, .. along a new last axis, `count` of them: the last axis's size unless given.
Tensor vander(const Tensor& x, std::optional<int64_t> count = std::nullopt);
/// Distances of all pairs of rows: [.., P, M], [.., R, M] -> [.., P, R], in the norm of that order.
Tensor cdist(const Tensor& x, const Tensor& y, double order = 2.0);
/// x^T W_o y + b_o for each o: [.., I], [.., J], [O, I, J], [O] -> [.., O]. `bias` may be
/// undefined.
Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias = {});

}  // namespace remora
