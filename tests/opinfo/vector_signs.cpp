#include "tests/opinfo/vector_signs.h"

#include <cstring>

#include "client/ops.h"

namespace remora::opinfo {
namespace {

std::vector<float> floats_of(const dispatch::HostData& data) {
  std::vector<float> values(static_cast<size_t>(data.spec.numel()));
  if (!values.empty()) std::memcpy(values.data(), data.span().data(), data.span().size());
  return values;
}

/// -1 for each column of `actual` that points away from the expected one, else 1: [.., 1, columns].
Tensor column_signs(const Tensor& actual, const dispatch::HostData& expected) {
  Shape shape = actual.shape();
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t columns = shape[shape.rank() - 1];
  shape[shape.rank() - 2] = 1;
  std::vector<float> signs(static_cast<size_t>(shape.numel()), 1.0F);
  const std::vector<float> ours = actual.detach().to_vector<float>();
  const std::vector<float> theirs = floats_of(expected);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t first = i / columns * rows * columns + i % columns;
    double along = 0.0;
    for (int64_t row = 0; row < rows; ++row) {
      const auto at = static_cast<size_t>(first + row * columns);
      along += static_cast<double>(ours[at]) * static_cast<double>(theirs[at]);
    }
    if (along < 0) signs[static_cast<size_t>(i)] = -1.0F;
  }
  return from_data(signs, shape, actual.device().without_autodiff());
}

/// A matrix whose first columns are multiplied by `signs`, as many as there are.
Tensor turned(const Tensor& x, const Tensor& signs) {
  if (x.numel() == 0) return x;
  const int64_t count = std::min(x.size(-1), signs.size(-1));
  return mul(x,
             concat({narrow(signs, -1, 0, count),
                     ones_like(narrow(narrow(x.inner(), -2, 0, 1), -1, count, x.size(-1) - count))},
                    -1));
}

}  // namespace

std::vector<Tensor> with_expected_signs(std::string_view op, std::vector<Tensor> results,
                                        const std::vector<dispatch::HostData>& expected) {
  const bool is_eigh = op == "linalg.eigh" && results.size() == 2;
  const bool is_svd = op == "linalg.svd" && results.size() == 3;
  const size_t vectors = is_eigh ? 1 : 0;
  if (!(is_eigh || is_svd) || results[vectors].spec() != expected[vectors].spec ||
      results[vectors].numel() == 0) {
    return results;
  }
  const Tensor signs = column_signs(results[vectors], expected[vectors]);
  results[vectors] = mul(results[vectors], signs);
  if (is_svd) results[2] = transpose(turned(transpose(results[2]), signs));
  return results;
}

}  // namespace remora::opinfo
