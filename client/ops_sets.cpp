// Sets, counts, and positions of what holds. A function whose result's shape depends on values
// reads that one number; it holds no CallScope across the read, because a read ends the window.
#include <array>
#include <cmath>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

Tensor truth_of(const Tensor& x) {
  return x.dtype() == DType::kBool ? x.detach() : not_equal(x.detach(), 0);
}

/// 0, 1, .. on the device of `like`, context Disabled.
Tensor numbers_like(const Tensor& like, int64_t count) {
  return arange(0, count, 1, like.device().without_autodiff(), DType::kI64);
}

/// A mask's true positions once their count is known: each leaves its own position at its rank
/// among them; the false ones share a place behind, which is cut off.
Tensor positions_of(const Tensor& mask, const Tensor& rank_of, int64_t count) {
  const CallScope scope;
  const Tensor target = where(mask, rank_of - 1, count);
  const Tensor blank = full({count + 1}, 0, mask.device().without_autodiff(), DType::kI64);
  return narrow(scatter(blank, 0, target, numbers_like(mask, mask.numel())), 0, 0, count);
}

/// The i64 positions, ascending, where a rank-1 mask holds. Reads their count.
Tensor true_positions(const Tensor& mask) {
  if (mask.numel() == 0) return numbers_like(mask, 0);
  const Tensor rank_of = cumsum(mask, 0);
  const auto count = narrow(rank_of, 0, mask.numel() - 1, 1).item<int64_t>();
  return positions_of(mask, rank_of, count);
}

}  // namespace

Tensor isin(const Tensor& x, const Tensor& candidates, bool invert) {
  const CallScope scope;
  const auto [elements, wanted] =
      promote_pair("isin", x.detach(), ravel(candidates.detach()), Domain::kArithmetic);
  if (wanted.numel() == 0) return full_like(elements, invert, DType::kBool);
  const Tensor ordered = sort(wanted, 0).first;
  const Tensor flat = ravel(elements);
  const Tensor place = minimum(searchsorted(ordered, flat), wanted.numel() - 1);
  const Tensor found = equal(gather(ordered, 0, place), flat);
  return reshape(invert ? logical_not(found) : found, x.shape());
}

std::vector<Tensor> nonzero_by_axis(const Tensor& x) {
  const dispatch::CallName name;
  const Tensor positions = true_positions(ravel(truth_of(x)));
  const CallScope scope;
  const Shape shape = x.rank() == 0 ? Shape{1} : x.shape();
  std::vector<Tensor> axes;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    Shape line(Dims(static_cast<size_t>(shape.rank()), 1));
    line[axis] = shape[axis];
    const Tensor coordinates = broadcast_to(reshape(numbers_like(x, shape[axis]), line), shape);
    axes.push_back(gather(ravel(coordinates), 0, positions));
  }
  return axes;
}

Tensor nonzero(const Tensor& x) {
  const dispatch::CallName name;
  if (x.rank() == 0) {
    const int64_t count = truth_of(x).item<bool>() ? 1 : 0;
    return full({count, 0}, 0, x.device().without_autodiff(), DType::kI64);
  }
  return stack(nonzero_by_axis(x), 1);
}

Tensor argwhere(const Tensor& x) {
  const dispatch::CallName name;
  return nonzero(x);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  const dispatch::CallName name;
  if (mask.dtype() != DType::kBool) {
    refuse("masked_select", str_cat("the mask is ", dtype_name(mask.dtype()), "; it must be bool"));
  }
  const Shape common = common_shape("masked_select", x.shape(), mask.shape());
  const Tensor positions = true_positions(ravel(broadcast_to(mask, common)));
  return gather(ravel(broadcast_to(x, common)), 0, positions);
}

namespace {

/// Which neighbours along axis 0 of a matrix differ: bool, one for each row, the first always true.
Tensor starts_of(const Tensor& rows) {
  const CallScope scope;
  const int64_t count = rows.size(0);
  const Tensor differ = not_equal(narrow(rows, 0, 1, count - 1), narrow(rows, 0, 0, count - 1));
  const Tensor first = full({1}, true, rows.device().without_autodiff(), DType::kBool);
  return concat({first, any(differ, 1)}, 0);
}

/// What is distinct among neighbouring rows, by the input row that each row of `rows` came from.
Distinct distinct_neighbours(const Tensor& rows, const Tensor& origin) {
  const Tensor starts = starts_of(rows);
  const Tensor group = cumsum(starts, 0) - 1;
  const Tensor first = true_positions(starts);
  const CallScope scope;
  const int64_t count = first.numel();
  const Tensor end = full({1}, rows.size(0), rows.device().without_autodiff(), DType::kI64);
  return {index_select(origin, 0, first), scatter(zeros_like(origin), 0, origin, group),
          narrow(concat({first, end}, 0), 0, 1, count) - first};
}

/// Distinct slices: as rows of a matrix, sorted or as they come.
Distinct distinct(std::string_view function, const Tensor& input, std::optional<int64_t> axis,
                  bool sorted) {
  const Tensor x = input.detach();
  const int64_t along = axis ? normalize_axis(function, *axis, x.rank()) : 0;
  const Tensor source = axis ? movedim(x, {along}, {0}) : ravel(x);
  const int64_t count = source.size(0);
  const Shape inverse_shape = axis ? Shape{count} : x.shape();
  if (source.numel() == 0) {
    if (count > 0) refuse(function, str_cat("slices of ", x.shape().str(), " hold no elements"));
    const Tensor none = numbers_like(x, 0);
    return {axis ? x : source, reshape(none, inverse_shape), none};
  }
  Tensor rows = reshape(source, {count, source.numel() / count});
  Tensor order = numbers_like(x, count);
  if (sorted) {
    const CallScope scope;
    // By the last column first: each sort keeps what the ones before it ordered.
    for (int64_t column = rows.size(1) - 1; column >= 0; --column) {
      const Tensor key = gather(select(rows, 1, column), 0, order);
      order = gather(order, 0, argsort(key, 0));
    }
    rows = index_select(rows, 0, order);
  }
  Distinct result = distinct_neighbours(rows, order);
  const CallScope scope;
  const Tensor values = index_select(source, 0, result.values);
  result.values = axis ? movedim(values, {0}, {along}) : values;
  result.inverse = reshape(result.inverse, inverse_shape);
  return result;
}

}  // namespace

Distinct unique(const Tensor& x, std::optional<int64_t> axis) {
  const dispatch::CallName name;
  return distinct("unique", x, axis, true);
}

Distinct unique_consecutive(const Tensor& x, std::optional<int64_t> axis) {
  const dispatch::CallName name;
  return distinct("unique_consecutive", x, axis, false);
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis) {
  const dispatch::CallName name;
  constexpr std::string_view kName = "repeat_interleave";
  const Tensor source = axis ? x : ravel(x);
  const int64_t along = normalize_axis(kName, axis.value_or(0), source.rank());
  if (counts.dtype() != DType::kI64 || counts.rank() != 1 || counts.numel() != source.size(along)) {
    refuse(kName, str_cat("counts of ", counts.spec().str(), " for an axis of ", source.size(along),
                          " elements"));
  }
  if (counts.numel() == 0) return source;
  // As f64: a sum beyond i64 is to be refused, not to wrap.
  const Tensor exact = astype(counts.inner(), DType::kF64);
  const std::vector<double> facts = stack({sum(exact), amin(exact)}).to_vector<double>();
  if (facts[1] < 0) refuse(kName, str_cat("the count ", facts[1], " is negative"));
  if (facts[0] > static_cast<double>(dispatch::kMaxElements)) {
    refuse(kName, str_cat("the counts make ", facts[0], " elements, the limit is ",
                          dispatch::kMaxElements));
  }
  const auto total = static_cast<int64_t>(facts[0]);
  const CallScope scope;
  const Tensor ends = cumsum(counts, 0);
  return index_select(source, along, searchsorted(ends, numbers_like(x, total), true));
}

Tensor one_hot(const Tensor& index) {
  const dispatch::CallName name;
  if (index.dtype() != DType::kI64 || index.numel() == 0) {
    refuse("one_hot", str_cat("cannot count the classes of ", index.spec().str(),
                              "; an i64 index with elements can"));
  }
  const auto largest = amax(index).item<int64_t>();
  if (largest < 0) refuse("one_hot", str_cat("the largest index ", largest, " is negative"));
  require_shape("one_hot", Shape{largest});
  return one_hot(index, largest + 1);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minimum_length) {
  const dispatch::CallName name;
  if (x.rank() != 1 || !is_integer(x.dtype())) {
    refuse("bincount", str_cat("takes a vector of integers, not ", x.spec().str()));
  }
  if (minimum_length < 0) {
    refuse("bincount", str_cat("the minimum length ", minimum_length, " is negative"));
  }
  if (weights.defined() && weights.shape() != x.shape()) {
    refuse("bincount", str_cat("weights of ", weights.shape().str(), " for ", x.shape().str()));
  }
  const Tensor index = astype(x, DType::kI64);
  int64_t length = minimum_length;
  if (x.numel() > 0) {
    const auto largest = amax(index).item<int64_t>();
    require_shape("bincount", Shape{std::max<int64_t>(0, largest)});
    length = std::max(length, largest + 1);
  }
  const CallScope scope;
  const Tensor added = weights.defined() ? weights : ones_like(index);
  return scatter_add(full({length}, 0, x.device().without_autodiff(), added.dtype()), 0, index,
                     added);
}

namespace {

Tensor as_f32(const Tensor& x) { return x.defined() ? astype(x, DType::kF32) : x; }
std::pair<Tensor, Tensor> as_dtype(const std::pair<Tensor, Tensor>& pair, DType dtype) {
  return {astype(pair.first, dtype), astype(pair.second, dtype)};
}

std::pair<Tensor, Tensor> histogram_between(const Tensor& input, const Tensor& edges,
                                            const Tensor& weights, bool density) {
  const int64_t bins = edges.numel() - 1;
  const Tensor x = ravel(input.detach());
  const Tensor first = narrow(edges, 0, 0, 1);
  const Tensor last = narrow(edges, 0, bins, 1);
  const Tensor inside = logical_and(x >= first, x <= last);
  const Tensor bin = minimum(maximum(searchsorted(edges, x, true) - 1, 0), bins - 1);
  Tensor added = astype(inside, x.dtype());
  if (weights.defined()) added = where(inside, ravel(weights.detach()), 0.0);
  Tensor counts = scatter_add(new_zeros(x, {bins}), 0, bin, added);
  if (density) {
    counts = counts / (narrow(edges, 0, 1, bins) - narrow(edges, 0, 0, bins)) / sum(counts);
  }
  return {counts, edges};
}

/// `counts` if `range` [] is finite. Else an error of the op: data that are not finite have no
/// range of their own.
Tensor if_finite(const Tensor& counts, const Tensor& range) {
  const Tensor number = numbers_like(counts, counts.numel());
  return gather(counts, 0, where(isfinite(range), number, counts.numel()));
}

void check_histogram(const Tensor& x, const Tensor& weights) {
  require_float("histogram", x.dtype());
  if (weights.defined() && (weights.shape() != x.shape() || weights.dtype() != x.dtype())) {
    refuse("histogram", str_cat("weights of ", weights.spec().str(), " for ", x.spec().str()));
  }
}

}  // namespace

std::pair<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges, const Tensor& weights,
                                    bool density) {
  const CallScope scope;
  check_histogram(x, weights);
  if (edges.rank() != 1 || edges.numel() < 2 || edges.dtype() != x.dtype()) {
    refuse("histogram", str_cat("edges of ", edges.spec().str(), " for ", x.spec().str(),
                                "; a vector of at least two is needed"));
  }
  if (is_half(x.dtype())) {  // which does not hold every count
    return as_dtype(histogram(as_f32(x), as_f32(edges), as_f32(weights), density), x.dtype());
  }
  return histogram_between(x, edges.detach(), weights, density);
}

std::pair<Tensor, Tensor> histogram(const Tensor& x, int64_t bins, std::optional<double> low,
                                    std::optional<double> high, const Tensor& weights,
                                    bool density) {
  const CallScope scope;
  check_histogram(x, weights);
  if (bins < 1) refuse("histogram", str_cat("the number of bins must be above 0, not ", bins));
  if (low.has_value() != high.has_value())
    refuse("histogram", "give both ends of the range or none");
  if (low && !(*low <= *high && std::isfinite(*high - *low))) {
    refuse("histogram", str_cat("[", *low, ", ", *high, "] is no range"));
  }
  require_shape("histogram", Shape{bins + 1});
  if (is_half(x.dtype())) {
    return as_dtype(histogram(as_f32(x), bins, low, high, as_f32(weights), density), x.dtype());
  }
  const Tensor data = x.detach();
  const bool own = !low && x.numel() > 0;
  Tensor first = own ? amin(data) : full_like(sum(data), low.value_or(0.0));
  Tensor last = own ? amax(data) : full_like(sum(data), high.value_or(1.0));
  // A range without width becomes one of width 1 around it.
  const Tensor single = astype(equal(first, last), x.dtype()) * 0.5;
  first = first - single;
  last = last + single;
  const Tensor steps = astype(numbers_like(x, bins + 1), x.dtype()) / static_cast<double>(bins);
  const Tensor edges = where(equal(steps, 1.0), last, first + (last - first) * steps);
  const auto [counts, ends] = histogram_between(x, edges, weights, density);
  return {own ? if_finite(counts, last - first) : counts, ends};
}

}  // namespace remora
