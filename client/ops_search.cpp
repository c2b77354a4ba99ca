// Searches that are log2(n) steps, each a few operations over the whole tensor, and running
// extremes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// The elements of x before and after a step of `reach` along `axis`.
Tensor early(const Tensor& x, int64_t axis, int64_t reach) {
  return narrow(x, axis, 0, x.size(axis) - reach);
}
Tensor late(const Tensor& x, int64_t axis, int64_t reach) {
  return narrow(x, axis, reach, x.size(axis) - reach);
}
Tensor rejoined(const Tensor& x, const Tensor& combined, int64_t axis, int64_t reach) {
  return concat({narrow(x, axis, 0, reach), combined}, axis);
}

/// Running extreme and its index; a scalar is its own.
std::pair<Tensor, Tensor> running_extreme(dispatch::OpCode code, std::string_view function,
                                          const Tensor& x, int64_t axis) {
  const CallScope scope(function);
  if (x.rank() == 0) {
    normalize_axis(function, axis, 1);
    return {x, zeros_like(x.detach(), DType::kI64)};
  }
  const dispatch::AxisAttrs along{normalize_axis(function, axis, x.rank())};
  const OpOutputs outputs = apply_all(code, std::span(&x, 1), along);
  return {outputs[0], outputs[1]};
}

}  // namespace

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool right) {
  const CallScope scope;
  if (sequence.rank() == 0) refuse("searchsorted", "the sequence must not be a scalar");
  if (sequence.rank() == 1 && values.rank() != 1) {
    return reshape(searchsorted(sequence, ravel(values), right), values.shape());
  }
  Shape leading = sequence.shape();
  leading[leading.rank() - 1] = values.rank() == 0 ? 1 : values.size(-1);
  if (values.shape() != leading) {
    refuse("searchsorted", str_cat("the sequence ", sequence.shape().str(), " and the values ",
                                   values.shape().str(), " must agree in all axes but the last"));
  }
  const auto [ordered, wanted] =
      promote_pair("searchsorted", sequence.detach(), values.detach(), Domain::kAny);
  const int64_t size = sequence.size(-1);
  Tensor below = zeros_like(wanted, DType::kI64);  // elements known to come before the value
  if (size == 0) return below;
  for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size))); step > 0;
       step /= 2) {
    const Tensor candidate = below + step;
    const Tensor probe = gather(ordered, -1, minimum(candidate, size) - 1);
    const Tensor comes_after = right ? greater(probe, wanted) : greater_equal(probe, wanted);
    below =
        where(logical_and(less_equal(candidate, size), logical_not(comes_after)), candidate, below);
  }
  return below;
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool right) {
  const dispatch::CallName name;
  if (boundaries.rank() != 1) {
    refuse("bucketize", str_cat("boundaries must be a vector, not ", boundaries.shape().str()));
  }
  return searchsorted(boundaries, values, right);
}

std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t axis) {
  return running_extreme(dispatch::OpCode::cummax, "cummax", x, axis);
}

std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t axis) {
  return running_extreme(dispatch::OpCode::cummin, "cummin", x, axis);
}

Tensor logcumsumexp(const Tensor& x, int64_t axis) {
  const CallScope scope;
  require_float("logcumsumexp", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return logcumsumexp(f, axis); });
  }
  if (x.rank() == 0) {
    normalize_axis("logcumsumexp", axis, 1);
    return x;
  }
  const int64_t along = normalize_axis("logcumsumexp", axis, x.rank());
  Tensor result = x;
  for (int64_t reach = 1; reach < x.size(along); reach *= 2) {
    const Tensor combined = logaddexp(early(result, along, reach), late(result, along, reach));
    result = rejoined(result, combined, along, reach);
  }
  return result;
}

Tensor histc(const Tensor& input, int64_t bins, double low, double high) {
  const CallScope scope;
  require_float("histc", input.dtype());
  if (bins <= 0) refuse("histc", str_cat("the number of bins must be above 0, not ", bins));
  if (!(low <= high && std::isfinite(high - low))) {
    refuse("histc", str_cat("[", low, ", ", high, "] is no range"));
  }
  require_shape("histc", Shape{bins});
  const Tensor x = ravel(input.detach());
  Tensor counts = new_zeros(x, {bins});
  if (x.numel() == 0) return counts;
  Tensor first = full_like(x, low);
  Tensor last = full_like(x, high);
  if (low == high) {
    first = broadcast_to(amin(x), x.shape());
    last = broadcast_to(amax(x), x.shape());
    // Data of a single value lie in the middle of a range of two.
    const Tensor single = astype(equal(first, last), x.dtype());
    first = first - single;
    last = last + single;
  }
  const Tensor inside = logical_and(greater_equal(x, first), less_equal(x, last));
  const Tensor bin = astype(floor((x - first) * bins / (last - first)), DType::kI64);
  const Tensor index = clip(bin, Operand(int64_t{0}), Operand(bins - 1));
  // Data that are not finite have no range of their own: an error where the op runs.
  const Tensor place = low == high ? where(isfinite(last - first), index, bins) : index;
  return scatter_add(counts, 0, place, astype(inside, x.dtype()));
}

Tensor trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t axis) {
  const CallScope scope;
  if (y.rank() == 0) refuse("trapezoid", "takes tensors of rank 1 or more, not a scalar");
  const int64_t along = normalize_axis("trapezoid", axis, y.rank());
  const int64_t size = y.size(along);
  if (size == 0) return sum(promote_one(y, Domain::kFloat), along);
  const Tensor pairs = narrow(y, along, 0, size - 1) + narrow(y, along, 1, size - 1);
  if (!x.defined()) return sum(pairs, along) * (dx / 2.0);
  Tensor distance;
  if (x.rank() == 1 && y.rank() != 1) {
    if (x.size(0) != size) {
      refuse("trapezoid", str_cat(x.size(0), " positions for ", size, " samples"));
    }
    Shape line(Dims(static_cast<size_t>(y.rank()), 1));
    line[along] = size - 1;
    distance = reshape(diff(x), line);
  } else {
    distance = diff(x, 1, axis);
  }
  return sum(pairs * distance, along) / 2.0;
}

}  // namespace remora
