// Searching sorted sequences, running extremes, histograms, integrals. The rules of ops.h hold.
#pragma once

#include <optional>
#include <utility>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// i64: where each value would be inserted into the ascending `sequence`, before equals (after them
/// with `right`); NaN counts as largest. A rank-1 sequence takes values of any shape; else all axes
/// but the last are equal. log2(n) steps over all values at once.
Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool right = false);
/// searchsorted(boundaries, values): which of the buckets between rank-1 boundaries.
Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool right = false);
/// Running maximum (minimum) along an axis and the i64 index of the last element that equals it;
/// NaN propagates. The gradient goes to that element.
std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t axis);
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t axis);
/// Running log(sum(exp(x))) along an axis. Floats only.
Tensor logcumsumexp(const Tensor& x, int64_t axis);
/// How many elements lie in each of `bins` equal intervals of [low, high], the last one closed; low
/// == high means the data's own range, and data that are not finite are then an error of the op.
/// Elements outside count nowhere. Floats only; no gradient.
Tensor histc(const Tensor& input, int64_t bins = 100, double low = 0.0, double high = 0.0);
/// The integral of samples along an axis by the trapezoidal rule: `dx` apart, or at `x`, which is a
/// vector or broadcasts with y.
Tensor trapezoid(const Tensor& y, const Tensor& x = {}, double dx = 1.0, int64_t axis = -1);

}  // namespace remora
