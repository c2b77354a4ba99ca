// Creation functions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "client/apply.h"
#include "client/autodiff/balanced.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

/// A value that `attrs` give again.
Tensor created(OpCode code, const dispatch::Attrs& attrs, const Device& device,
               const dispatch::Value& value) {
  const AutodiffContext context = AutodiffContext::of(device);
  if (!autodiff::is_balanced(context)) return Tensor(value, context);
  return Tensor(value, context, {}, autodiff::remember_created(code, attrs, device, value));
}

Tensor create(OpCode code, const dispatch::Attrs& attrs, const Device& device) {
  return created(code, attrs, device, dispatch::submit(code, {}, attrs, &device)[0]);
}

Tensor draw(OpCode code, const Shape& shape, const Device& device, DType dtype) {
  require_shape(dispatch::op_name(code), shape);
  dispatch::RandomAttrs attrs;
  const dispatch::Value value = dispatch::submit_random(code, {dtype, shape}, device, &attrs);
  return created(code, attrs, device, value);
}

}  // namespace

Tensor full(const Shape& shape, Scalar value, const Device& device, std::optional<DType> dtype) {
  require_shape("full", shape);
  return create(OpCode::full,
                dispatch::FullAttrs{dtype.value_or(default_float(device)), shape, value}, device);
}
Tensor zeros(const Shape& shape, const Device& device, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full(shape, 0, device, dtype);
}
Tensor ones(const Shape& shape, const Device& device, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full(shape, 1, device, dtype);
}
Tensor empty(const Shape& shape, const Device& device, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full(shape, 0, device, dtype);
}
Tensor full_like(const Tensor& like, Scalar value, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full(like.shape(), value, like.device(), dtype.value_or(like.dtype()));
}
Tensor zeros_like(const Tensor& like, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full_like(like, 0, dtype);
}
Tensor ones_like(const Tensor& like, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full_like(like, 1, dtype);
}
Tensor fill(const Tensor& x, Scalar value) {
  const dispatch::CallName name;
  return full_like(x, value);
}
Tensor empty_like(const Tensor& like, std::optional<DType> dtype) {
  const dispatch::CallName name;
  return full_like(like, 0, dtype);
}
Tensor new_full(const Tensor& like, const Shape& shape, Scalar value) {
  const dispatch::CallName name;
  return full(shape, value, like.device(), like.dtype());
}
Tensor new_zeros(const Tensor& like, const Shape& shape) {
  const dispatch::CallName name;
  return new_full(like, shape, 0);
}
Tensor new_ones(const Tensor& like, const Shape& shape) {
  const dispatch::CallName name;
  return new_full(like, shape, 1);
}
Tensor new_empty(const Tensor& like, const Shape& shape) {
  const dispatch::CallName name;
  return new_full(like, shape, 0);
}

namespace {

/// How many steps lead from start to before end; INVALID_ARGUMENT if none does.
int64_t arange_count(const Scalar& start, const Scalar& end, const Scalar& step) {
  const auto exact = [](const Scalar& scalar) {  // 64 bits of mantissa hold every integer
    return scalar.is_float() ? static_cast<long double>(scalar.as_double())
                             : static_cast<long double>(scalar.as_int64());
  };
  const long double distance = exact(end) - exact(start);
  const long double stride = exact(step);
  if (!std::isfinite(distance) || !std::isfinite(stride)) {
    refuse("arange", "start, end and step must be finite");
  }
  if (stride == 0) refuse("arange", "the step is 0");
  if (distance != 0 && (distance > 0) != (stride > 0)) {
    refuse("arange", str_cat("a step of ", step.as_double(), " leads away from ", end.as_double()));
  }
  const long double count = std::ceil(distance / stride);
  if (count > 0x1p62L) refuse("arange", "too many elements");
  return static_cast<int64_t>(count);
}

}  // namespace

Tensor arange(Scalar start, Scalar end, Scalar step, const Device& device,
              std::optional<DType> dtype) {
  const bool floating = start.is_float() || end.is_float() || step.is_float();
  const DType type =
      dtype.value_or(floating ? default_float(device) : device_settings(device).int_dtype);
  const int64_t count = arange_count(start, end, step);
  require_shape("arange", Shape{count});
  return create(OpCode::arange, dispatch::ArangeAttrs{type, count, start, step}, device);
}

Tensor linspace(double start, double end, int64_t count, const Device& device,
                std::optional<DType> wanted) {
  const DType dtype = wanted.value_or(default_float(device));
  const dispatch::CallName name;
  if (count < 0) refuse("linspace", str_cat("the count is ", count));
  require_shape("linspace", Shape{count});
  const double step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0.0;
  const bool integer = !is_float(dtype) && dtype != DType::kBool;
  if (integer && (std::floor(start) != start || std::floor(step) != step)) {
    // Not arange in integers: it would round the step, and every element after the first with it.
    const CallScope scope;
    return astype(floor(linspace(start, end, count, device, DType::kF32)), dtype);
  }
  return create(OpCode::arange, dispatch::ArangeAttrs{dtype, count, start, step}, device);
}

Tensor logspace(double start, double end, int64_t count, double base, const Device& device,
                std::optional<DType> dtype) {
  const CallScope scope;
  return astype(pow(base, linspace(start, end, count, device, DType::kF32)),
                dtype.value_or(default_float(device)));
}

Tensor eye(int64_t rows, std::optional<int64_t> columns, const Device& device,
           std::optional<DType> dtype) {
  const CallScope scope;
  if (rows < 0 || columns.value_or(0) < 0) refuse("eye", "a size is negative");
  const Tensor row = unsqueeze(arange(0, rows, 1, device, DType::kI64), 1);
  const Tensor column = arange(0, columns.value_or(rows), 1, device, DType::kI64);
  return astype(equal(row, column), dtype.value_or(default_float(device)));
}

namespace {

/// bool [rows, columns]: column - row, compared with k.
Tensor triangle(std::string_view function, const Tensor& x, int64_t k, bool lower) {
  if (x.rank() < 2) refuse(function, str_cat("takes at least two axes, not ", x.shape().str()));
  const Device device = x.device().without_autodiff();
  const Tensor row = unsqueeze(arange(0, x.size(-2), 1, device, DType::kI64), 1);
  const Tensor column = arange(0, x.size(-1), 1, device, DType::kI64);
  return lower ? column - row <= k : column - row >= k;
}

}  // namespace

Tensor tril(const Tensor& x, int64_t k) {
  const CallScope scope;
  return where(triangle("tril", x, k, true), x,
               zeros({}, x.device().without_autodiff(), x.dtype()));
}

Tensor triu(const Tensor& x, int64_t k) {
  const CallScope scope;
  return where(triangle("triu", x, k, false), x,
               zeros({}, x.device().without_autodiff(), x.dtype()));
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  const CallScope scope;
  if (index.dtype() != DType::kI64) {
    refuse("one_hot", str_cat("the index is ", dtype_name(index.dtype()), "; it must be i64"));
  }
  if (classes < 1) refuse("one_hot", str_cat("the number of classes is ", classes));
  const Tensor column = arange(0, classes, 1, index.device(), DType::kI64);
  return astype(equal(unsqueeze(index, -1), column), DType::kI64);
}

Tensors meshgrid(const Tensors& axes) {
  const CallScope scope;
  Shape grid;
  for (const Tensor& axis : axes) {
    if (axis.rank() > 1)
      refuse("meshgrid", str_cat("takes rank-1 tensors, not ", axis.shape().str()));
    grid.sizes().push_back(axis.numel());
  }
  Tensors result;
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape column;
    for (size_t k = 0; k < axes.size(); ++k) column.sizes().push_back(k == i ? axes[i].numel() : 1);
    result.push_back(broadcast_to(reshape(axes[i], column), grid));
  }
  return result;
}

Tensor uniform(const Shape& shape, const Device& device, double low, double high,
               std::optional<DType> wanted) {
  const CallScope scope;
  const DType dtype = wanted.value_or(default_float(device));
  require_float("uniform", dtype);
  const double largest = largest_finite(dtype);
  const double widest = std::max({std::abs(low), std::abs(high), high - low});
  if (!(low <= high && widest <= largest)) {
    refuse("uniform", str_cat("[", low, ", ", high, ") is no range of ", dtype_name(dtype),
                              ": ends and length are at most ", largest));
  }
  const Tensor unit = draw(OpCode::uniform, shape, device, dtype);
  if (low == 0.0 && high == 1.0) return unit;
  return unit * (high - low) + low;
}

Tensor normal(const Shape& shape, const Device& device, double mean, double deviation,
              std::optional<DType> wanted) {
  const CallScope scope;
  const DType dtype = wanted.value_or(default_float(device));
  require_float("normal", dtype);
  const double largest = largest_finite(dtype);
  if (!(deviation >= 0 && deviation <= largest && std::abs(mean) <= largest)) {
    refuse("normal", str_cat("mean ", mean, " and deviation ", deviation, " of ", dtype_name(dtype),
                             " must be at most ", largest, ", the deviation not negative"));
  }
  const Tensor standard = draw(OpCode::normal, shape, device, dtype);
  if (mean == 0.0 && deviation == 1.0) return standard;
  return standard * deviation + mean;
}

Tensor bernoulli(const Shape& shape, double p, const Device& device) {
  const CallScope scope;
  if (!(p >= 0.0 && p <= 1.0)) refuse("bernoulli", str_cat("p is ", p, "; it must lie in [0, 1]"));
  return draw(OpCode::uniform, shape, device, DType::kF32) < p;
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, const Device& device) {
  const CallScope scope;
  constexpr uint64_t kMaxRange = uint64_t{1} << 24;  // a uniform draw has 24 bits
  if (low >= high) refuse("randint", str_cat("the range [", low, ", ", high, ") is empty"));
  const uint64_t length = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (length > kMaxRange) {
    refuse("randint", str_cat("the range [", low, ", ", high, ") is longer than ", kMaxRange));
  }
  const auto range = static_cast<double>(length);
  const Tensor draws = floor(draw(OpCode::uniform, shape, device, DType::kF32) * range);
  return astype(minimum(draws, range - 1.0), DType::kI64) + low;
}

Tensor randperm(int64_t count, const Device& device) {
  const CallScope scope;
  if (count < 0) refuse("randperm", str_cat("the count is ", count));
  return argsort(draw(OpCode::uniform, {count}, device, DType::kF64));
}

Tensor multinomial(const Tensor& weights, int64_t count, bool replacement) {
  const CallScope scope;
  constexpr std::string_view kName = "multinomial";
  require_float(kName, weights.dtype());
  const bool shaped = weights.rank() >= 1 && weights.size(-1) > 0;
  if (!shaped || count < 0 || (!replacement && count > weights.size(-1))) {
    refuse(kName, str_cat(count, " draws ", replacement ? "with" : "without",
                          " replacement from weights of ", weights.shape().str()));
  }
  const Tensor given = astype(weights.inner(), DType::kF64);
  const Device device = given.device();
  const int64_t categories = given.size(-1);
  // So that sums of weights near the end of f64 stay within it.
  const Tensor large = amax(given, {-1}, true) > 0x1p900;
  const Tensor mass = where(large, given * 0x1p-64, given);
  const Tensor total = sum(mass, {-1}, true);
  Tensor valid =
      logical_and(amin(given, {-1}, true) >= 0.0, logical_and(total > 0.0, isfinite(total)));
  Shape drawn = mass.shape();
  drawn.sizes().back() = count;
  Tensor index;
  if (replacement) {
    // Divided by its own last element, which makes that 1, above every draw.
    const Tensor sums = cumsum(mass, -1);
    const Tensor below = sums / narrow(sums, -1, categories - 1, 1);
    index = searchsorted(below, draw(OpCode::uniform, drawn, device, DType::kF64), true);
  } else {
    // The largest of weight / exponential draw are a draw without replacement (Efraimidis and
    // Spirakis, "Weighted random sampling with a reservoir", 2006).
    const Tensor times = -log1p(-draw(OpCode::uniform, mass.shape(), device, DType::kF64));
    // By logarithms, whose differences stay finite where quotients do not.
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const auto [keys, order] = topk(where(given > 0.0, log(given) - log(times), kNever), count);
    index = order;
    valid = logical_and(valid, keys > kNever);
  }
  // What is not valid asks for a category that does not exist: an error where the op runs.
  return take(arange(0, categories, 1, device, DType::kI64), where(valid, index, categories));
}

}  // namespace remora
