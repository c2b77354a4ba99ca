// Products, minima, running sums and extremes, sorting, and scattering that overwrites or combines.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dispatch/error.h"
#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::AxisAttrs;

uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

/// True if element `a` of `x` is below element `b`; a NaN is below every number.
bool below(const Array& x, int64_t a, int64_t b) {
  if (!x.is_real()) return x.integer(static_cast<size_t>(a)) < x.integer(static_cast<size_t>(b));
  const double first = x.reals[static_cast<size_t>(a)];
  const double second = x.reals[static_cast<size_t>(b)];
  return first < second || (std::isnan(first) && !std::isnan(second));
}

/// Offsets of the elements along `axis`, line by line.
std::vector<std::vector<int64_t>> lines_of(const Shape& shape, int64_t axis) {
  std::vector<std::vector<int64_t>> lines;
  for_each(shape, [&](const Dims& index, int64_t) {
    if (index[static_cast<size_t>(axis)] != 0) return;
    std::vector<int64_t>& line = lines.emplace_back();
    Dims at = index;
    for (int64_t i = 0; i < shape[axis]; ++i) {
      at[static_cast<size_t>(axis)] = i;
      line.push_back(offset_of(shape, at));
    }
  });
  return lines;
}

/// For each element of a reduction's result the offsets that it stands for.
std::vector<std::vector<int64_t>> groups_of(const Shape& shape, const Dims& axes) {
  Shape kept = shape;
  for (const int64_t axis : axes) kept[axis] = 1;
  std::vector<std::vector<int64_t>> groups(static_cast<size_t>(kept.numel()));
  for_each(shape, [&](const Dims& index, int64_t offset) {
    Dims to = index;
    for (const int64_t axis : axes) to[static_cast<size_t>(axis)] = 0;
    groups[static_cast<size_t>(offset_of(kept, to))].push_back(offset);
  });
  return groups;
}

Shape reduced(const Shape& shape, const Dims& axes, bool keepdims) {
  Shape result;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = std::ranges::find(axes, axis) != axes.end();
    if (!gone || keepdims) result.sizes().push_back(gone ? 1 : shape[axis]);
  }
  return result;
}

Arrays prod(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& [axes, keepdims] = std::get<dispatch::ReduceAttrs>(attrs);
  const Array& x = inputs[0];
  Array result({x.spec.dtype, reduced(x.spec.shape, axes, keepdims)});
  size_t to = 0;
  for (const auto& group : groups_of(x.spec.shape, axes)) {
    double real = 1.0;
    uint64_t integer = 1;
    for (const int64_t from : group) {
      if (x.is_real()) real *= x.reals[static_cast<size_t>(from)];
      if (!x.is_real()) integer *= bits(x.integers[static_cast<size_t>(from)]);
    }
    if (x.is_real()) result.reals[to] = real;
    if (!x.is_real()) result.set_integer(to, wrap(integer));
    ++to;
  }
  return {result};
}

int64_t smallest_of(const Array& x, const std::vector<int64_t>& group) {
  int64_t best = group[0];
  for (const int64_t at : group) {
    if (below(x, at, best)) best = at;
  }
  return best;
}

Arrays amin(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& [axes, keepdims] = std::get<dispatch::ReduceAttrs>(attrs);
  const Array& x = inputs[0];
  Array result({x.spec.dtype, reduced(x.spec.shape, axes, keepdims)});
  int64_t to = 0;
  for (const auto& group : groups_of(x.spec.shape, axes)) {
    copy_element(x, smallest_of(x, group), result, to++);
  }
  return {result};
}

Arrays argmin(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& [axis, keepdims] = std::get<dispatch::ArgReduceAttrs>(attrs);
  const Array& x = inputs[0];
  Array result({DType::kI64, reduced(x.spec.shape, {axis}, keepdims)});
  size_t to = 0;
  for (const auto& group : groups_of(x.spec.shape, {axis})) {
    const auto at = std::ranges::find(group, smallest_of(x, group));
    result.integers[to++] = at - group.begin();
  }
  return {result};
}

/// A running value along an axis.
template <typename OfReals, typename OfIntegers>
Arrays running(const Arrays& inputs, const dispatch::Attrs& attrs, OfReals real,
               OfIntegers integer) {
  const Array& x = inputs[0];
  Array result = x;
  for (const auto& line : lines_of(x.spec.shape, std::get<AxisAttrs>(attrs).axis)) {
    for (size_t i = 1; i < line.size(); ++i) {
      const auto before = static_cast<size_t>(line[i - 1]);
      const auto at = static_cast<size_t>(line[i]);
      if (x.is_real()) result.reals[at] = real(result.reals[before], x.reals[at]);
      if (!x.is_real()) {
        result.set_integer(at, wrap(integer(bits(result.integers[before]), bits(x.integers[at]))));
      }
    }
  }
  return {result};
}

Arrays cumsum(const Arrays& inputs, const dispatch::Attrs& attrs) {
  return running(inputs, attrs, std::plus<double>(), std::plus<uint64_t>());
}
Arrays cumprod(const Arrays& inputs, const dispatch::Attrs& attrs) {
  return running(inputs, attrs, std::multiplies<double>(), std::multiplies<uint64_t>());
}

/// The running extreme; `sign` -1 turns the order around.
Arrays running_extreme(const Arrays& inputs, const dispatch::Attrs& attrs, double sign) {
  const Array& x = inputs[0];
  Array values = x;
  Array indices({DType::kI64, x.spec.shape});
  for (const auto& line : lines_of(x.spec.shape, std::get<AxisAttrs>(attrs).axis)) {
    size_t best = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      const double held = x.as_real(line[best]);
      const double element = x.as_real(line[i]);
      const bool number_wins = !std::isnan(held) && sign * element >= sign * held;
      if (std::isnan(element) || number_wins) best = i;
      copy_element(x, line[best], values, line[i]);
      indices.integers[static_cast<size_t>(line[i])] = static_cast<int64_t>(best);
    }
  }
  return {values, indices};
}

Arrays sort(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& [axis, descending] = std::get<dispatch::SortAttrs>(attrs);
  const Array& x = inputs[0];
  Array values = x;
  Array indices({DType::kI64, x.spec.shape});
  for (const auto& line : lines_of(x.spec.shape, axis)) {
    std::vector<size_t> order(line.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto comes_before = [&](size_t a, size_t b) {
      const bool a_nan = x.is_real() && std::isnan(x.reals[static_cast<size_t>(line[a])]);
      const bool b_nan = x.is_real() && std::isnan(x.reals[static_cast<size_t>(line[b])]);
      if (a_nan || b_nan) return !a_nan && b_nan;
      return descending ? below(x, line[b], line[a]) : below(x, line[a], line[b]);
    };
    std::ranges::stable_sort(order, comes_before);
    for (size_t i = 0; i < line.size(); ++i) {
      copy_element(x, line[order[i]], values, line[i]);
      indices.integers[static_cast<size_t>(line[i])] = static_cast<int64_t>(order[i]);
    }
  }
  return {values, indices};
}

/// Calls `put(target, source)` with offsets, in index order.
template <typename Put>
void for_each_target(const char* op, const Arrays& inputs, int64_t axis, Put put) {
  const Array& chosen = inputs[1];
  const Shape& shape = inputs[0].spec.shape;
  for_each(chosen.spec.shape, [&](const Dims& index, int64_t at) {
    const int64_t value = chosen.integers[static_cast<size_t>(at)];
    if (value < 0 || value >= shape[axis]) {
      throw Error(absl::InvalidArgumentError(std::string(op) + ": index " + std::to_string(value)));
    }
    Dims to = index;
    to[static_cast<size_t>(axis)] = value;
    put(offset_of(shape, to), offset_of(inputs[2].spec.shape, index));
  });
}

Arrays scatter(const Arrays& inputs, const dispatch::Attrs& attrs) {
  Array result = inputs[0];
  for_each_target("scatter", inputs, std::get<AxisAttrs>(attrs).axis,
                  [&](int64_t to, int64_t from) { copy_element(inputs[2], from, result, to); });
  return {result};
}

double combined(int64_t reduction, double a, double b) {
  if (reduction == 0) return a * b;
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return reduction == 1 ? std::fmin(a, b) : std::fmax(a, b);
}
Integer combined(int64_t reduction, Integer a, Integer b) {
  if (reduction == 0) return wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  return reduction == 1 ? std::min(a, b) : std::max(a, b);
}

Arrays scatter_reduce(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& [axis, reduction] = std::get<dispatch::ScatterAttrs>(attrs);
  Array result = inputs[0];
  for_each_target("scatter_reduce", inputs, axis, [&, kind = reduction](int64_t to, int64_t from) {
    const auto target = static_cast<size_t>(to);
    const auto source = static_cast<size_t>(from);
    if (result.is_real()) {
      result.reals[target] = combined(kind, result.reals[target], inputs[2].reals[source]);
    } else {
      result.set_integer(target, combined(kind, result.integer(target), inputs[2].integer(source)));
    }
  });
  return {result};
}

}  // namespace

void add_order(Table& table) {
  table["prod"] = prod;
  table["amin"] = amin;
  table["argmin"] = argmin;
  table["cumsum"] = cumsum;
  table["cumprod"] = cumprod;
  table["cummax"] = [](const Arrays& inputs, const dispatch::Attrs& attrs) {
    return running_extreme(inputs, attrs, 1.0);
  };
  table["cummin"] = [](const Arrays& inputs, const dispatch::Attrs& attrs) {
    return running_extreme(inputs, attrs, -1.0);
  };
  table["sort"] = sort;
  table["scatter"] = scatter;
  table["scatter_reduce"] = scatter_reduce;
}

}  // namespace remora::reference
