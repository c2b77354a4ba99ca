// Order: sorting and what follows from it, sets, and positions of what holds. The rules of ops.h
// hold.
//
// A NaN is larger than every number: it comes last in ascending order, and sort, argsort and topk
// put it last in descending order too. The functions marked "reads" have a result whose shape
// depends on values: they read one number from the device, which ends the window and, on a remote
// device, costs one round trip; everything else of them is ordinary operations on the device.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// Values in order along `axis` and their i64 indices; equal ones keep their order.
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t axis = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);
Tensor msort(const Tensor& x);  ///< sorted along axis 0
/// The k largest (smallest) along `axis`, in order, and their i64 indices: the lowest among equals.
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t axis = -1, bool largest = true);
/// The k-th smallest (k from 1) along `axis` and its i64 index.
std::pair<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t axis = -1,
                                   bool keepdims = false);
/// The lower of the two middle elements; NaN if there is one. An empty axis is refused.
Tensor median(const Tensor& x);
std::pair<Tensor, Tensor> median(const Tensor& x, int64_t axis, bool keepdims = false);
/// The same of the elements that are not NaN; NaN if there is none.
Tensor nanmedian(const Tensor& x);
std::pair<Tensor, Tensor> nanmedian(const Tensor& x, int64_t axis, bool keepdims = false);

/// What an element between two others is: on the line, the lower, the higher, the nearer (the even
/// one at half), halfway.
enum class QuantileForm : uint8_t { kLinear, kLower, kHigher, kNearest, kMidpoint };
/// The element at q (n - 1) of the sorted axis, or of all elements: q in [0, 1] is a number, or a
/// vector whose axis comes first. Floats only; NaN if there is one.
Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis = std::nullopt,
                bool keepdims = false, QuantileForm form = QuantileForm::kLinear);
/// The same of the elements that are not NaN.
Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis = std::nullopt,
                   bool keepdims = false, QuantileForm form = QuantileForm::kLinear);

/// bool: which elements occur in `candidates`, or do not with `invert`.
Tensor isin(const Tensor& x, const Tensor& candidates, bool invert = false);

/// i64 [count, rank]: the indices of elements that are not 0, in row-major order. Reads.
Tensor nonzero(const Tensor& x);
Tensor argwhere(const Tensor& x);  ///< nonzero
/// `nonzero` by axis; a scalar counts as a vector of one. Reads.
std::vector<Tensor> nonzero_by_axis(const Tensor& x);
/// The elements where `mask` (bool) holds, both broadcast, as a vector. Reads.
Tensor masked_select(const Tensor& x, const Tensor& mask);

/// Distinct elements, or distinct slices of `axis`; for each input its place among them; how often
/// each occurs. `unique` sorts them, `unique_consecutive` compares neighbours only. Reads.
struct Distinct {
  Tensor values, inverse, counts;
};
Distinct unique(const Tensor& x, std::optional<int64_t> axis = std::nullopt);
Distinct unique_consecutive(const Tensor& x, std::optional<int64_t> axis = std::nullopt);

/// Each element along `axis`, or of the flattened tensor, as often as the i64 vector `counts` says.
/// Reads.
Tensor repeat_interleave(const Tensor& x, const Tensor& counts,
                         std::optional<int64_t> axis = std::nullopt);
/// `one_hot` with as many classes as the largest index needs. Reads.
Tensor one_hot(const Tensor& index);
/// How often each integer from 0 occurs, or the sum of its `weights` (undefined: none); at least
/// `minimum_length` long. Reads. A negative integer is an error of the op.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minimum_length = 0);
/// Counts, sums of `weights` or densities in bins between ascending rank-1 `edges` (the last bin
/// closed), and the edges. Floats only; no gradient.
std::pair<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges,
                                    const Tensor& weights = {}, bool density = false);
/// The same over `bins` equal bins of [low, high], or of the data's own range: data that are not
/// finite are then an error of the op.
std::pair<Tensor, Tensor> histogram(const Tensor& x, int64_t bins, std::optional<double> low,
                                    std::optional<double> high, const Tensor& weights = {},
                                    bool density = false);

}  // namespace remora
