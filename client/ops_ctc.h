// Connectionist temporal classification. The rules of ops.h hold; floats only.
#pragma once

#include "client/ops_nn.h"

namespace remora {

struct CtcOptions {
  int64_t blank = 0;  // the class that stands for no label
  Reduction reduction = Reduction::kMean;
  bool zero_infinity = false;  // 0 instead of infinity, and no gradient, where no path exists
};
/// Minus the logarithm of the probability of all paths that collapse to the labels (Graves et al.,
/// 2006): of log-probabilities [T, N, C], i64 labels [N, S] without blanks (what lies beyond an
/// example's length is not looked at, but must be a class), and i64 lengths [N] of both. The mean
/// is of each loss divided by its label count, at least 1. Infinite where no path exists. One
/// sweep along T, recorded step by step.
Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& labels, const Tensor& input_lengths,
                const Tensor& label_lengths, const CtcOptions& options = {});

}  // namespace remora
