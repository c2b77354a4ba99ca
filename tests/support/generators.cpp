#include "tests/support/generators.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace remora::test {

uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15;
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return mixed ^ (mixed >> 31);
}

int64_t Random::below(int64_t bound) {
  return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
}

double Random::between(double low, double high) {
  return low + (high - low) * std::ldexp(static_cast<double>(next() >> 11), -53);
}

Input f32(Shape shape, double low, double high) {
  return {{DType::kF32, std::move(shape)}, Fill::kUniform, low, high};
}

Input i64(Shape shape, int64_t low, int64_t high) {
  return {{DType::kI64, std::move(shape)},
          Fill::kUniform,
          static_cast<double>(low),
          static_cast<double>(high)};
}

Input boolean(Shape shape) { return {{DType::kBool, std::move(shape)}, Fill::kUniform, 0, 2}; }

Input index(Shape shape, int64_t bound) {
  Input input = i64(std::move(shape), 0, bound);
  input.is_index = true;
  return input;
}

Input distinct(Shape shape) { return {{DType::kF32, std::move(shape)}, Fill::kDistinct}; }

Input listed(Shape shape, std::vector<double> values, DType dtype) {
  return {{dtype, std::move(shape)}, Fill::kListed, 0, 0, std::move(values)};
}

Input special_floats() { return {{DType::kF32, {kSpecialCount}}, Fill::kSpecial}; }

Input matrix(Shape shape) { return {{DType::kF32, std::move(shape)}, Fill::kMatrix}; }

Input symmetric(Shape shape) { return {{DType::kF32, std::move(shape)}, Fill::kSymmetric}; }

namespace {

/// 0, 1, ... in random order, scaled and centred.
std::vector<double> distinct_values(int64_t count, Random& random) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  }
  std::vector<double> values;
  values.reserve(order.size());
  for (const int64_t place : order) {
    values.push_back(0.0625 * static_cast<double>(place) - 0.03125 * static_cast<double>(count) +
                     0.015);
  }
  return values;
}

/// The kSpecialCount values, in order; a longer input repeats them.
std::vector<double> special_values(DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double denormal = reference::ulp_of(dtype, 0.0);
  const bool narrow_exponent = dtype == DType::kF16;
  const double smallest = dtype == DType::kF64 ? std::numeric_limits<double>::min()
                          : narrow_exponent    ? 0x1p-14
                                               : 0x1p-126;
  const double largest = dtype == DType::kF64    ? std::numeric_limits<double>::max()
                         : dtype == DType::kF16  ? 65504.0
                         : dtype == DType::kBF16 ? 0x1.FEp127
                                                 : 0x1.FFFFFEp127;
  return {std::nan(""), infinity,  -infinity, 0.0,     -0.0,     1.0, -1.0,
          denormal,     -denormal, smallest,  largest, -largest, 0.5, -2.5};
}

/// Matrices with small elements off a diagonal of 1, 2, ..
std::vector<double> matrix_values(const Shape& shape, bool is_symmetric, Random& random) {
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t columns = shape[shape.rank() - 1];
  const double largest = 0.8 / static_cast<double>(std::max<int64_t>({1, rows, columns}));
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t row = i / columns % rows;
    const int64_t column = i % columns;
    double element = random.between(-largest, largest);
    if (row == column) element += static_cast<double>(row + 1);
    const int64_t mirrored = i + (column - row) * (columns - 1);
    if (is_symmetric && column < row) element = values[static_cast<size_t>(mirrored)];
    values.push_back(element);
  }
  return values;
}

}  // namespace

reference::Array generate(const Input& input, uint64_t seed) {
  Random random(seed);
  reference::Array array(input.spec);
  std::vector<double> chosen = input.values;
  if (input.fill == Fill::kDistinct) chosen = distinct_values(array.numel(), random);
  if (input.fill == Fill::kSpecial) chosen = special_values(input.spec.dtype);
  if (input.fill == Fill::kMatrix || input.fill == Fill::kSymmetric) {
    chosen = matrix_values(input.spec.shape, input.fill == Fill::kSymmetric, random);
  }
  for (size_t i = 0; i < static_cast<size_t>(array.numel()); ++i) {
    const double element =
        input.fill == Fill::kUniform ? random.between(input.low, input.high) : chosen[i];
    if (!array.is_real()) {
      array.set_integer(i, static_cast<reference::Integer>(std::floor(element)));
    } else {
      array.reals[i] = reference::round_to(input.spec.dtype, element);
    }
  }
  return array;
}

uint64_t seed_of(std::string_view first, std::string_view second) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const std::string_view part : {first, std::string_view("/"), second}) {
    for (const char letter : part) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3;
    }
  }
  return hash;
}

}  // namespace remora::test
