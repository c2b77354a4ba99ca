// Losses that compare the classes of one example by a margin. The rules of ops.h hold; floats only.
#pragma once

#include "client/ops_nn.h"

namespace remora {

/// sum over j != y of max(0, margin - x_y + x_j)^p / C, of scores [N, C] or [C] and i64 classes [N]
/// or []; p is 1 or 2. `weight` is [C], or undefined.
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, int64_t p = 1, double margin = 1.0,
                         const Tensor& weight = {}, Reduction reduction = Reduction::kMean);
/// sum over targets y and other classes j of max(0, 1 - x_y + x_j) / C; `target` has the scores'
/// shape and lists i64 classes, the first negative one ends the list.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                              Reduction reduction = Reduction::kMean);
/// The binary cross-entropy of each class's logit, averaged over the classes (the last axis);
/// `weight` broadcasts with them, or is undefined.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                   Reduction reduction = Reduction::kMean);

}  // namespace remora
