// Gradients where mathematics leaves a choice (docs/numerics.md).
#include <functional>

#include "tests/client/device.h"

namespace remora {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// The gradients of sum(function(inputs)).
std::vector<std::vector<float>> gradients_of(const std::vector<Tensor>& inputs,
                                             const Function& function) {
  std::vector<std::vector<float>> result;
  for (const Tensor& gradient : autodiff::grad(sum(function(inputs)), inputs)) {
    result.push_back(gradient.to_vector<float>());
  }
  return result;
}

using Rows = std::vector<std::vector<float>>;

TEST(gradient_conventions, maximum_and_minimum_halve_at_a_tie) {
  const auto maxima = [](const std::vector<Tensor>& x) { return maximum(x[0], x[1]); };
  EXPECT_EQ(gradients_of({leaf({1, 2, 3}, {3}), leaf({1, 3, 2}, {3})}, maxima),
            (Rows{{0.5F, 0, 1}, {0.5F, 1, 0}}));
  const auto minima = [](const std::vector<Tensor>& x) { return minimum(x[0], x[1]); };
  EXPECT_EQ(gradients_of({leaf({1, 2, 3}, {3}), leaf({1, 3, 2}, {3})}, minima),
            (Rows{{0.5F, 1, 0}, {0.5F, 0, 1}}));
}

TEST(gradient_conventions, amax_shares_evenly_and_max_selects) {
  const Rows shared = {{0.5F, 0, 0.5F}};
  EXPECT_EQ(gradients_of({leaf({2, 1, 2}, {3})}, [](const auto& x) { return amax(x[0]); }), shared);
  EXPECT_EQ(gradients_of({leaf({-2, 1, -2}, {3})}, [](const auto& x) { return amin(x[0]); }),
            shared);
  EXPECT_EQ(gradients_of({leaf({2, 1, 2}, {3})}, [](const auto& x) { return max(x[0], 0).first; }),
            (Rows{{1, 0, 0}}));
}

TEST(gradient_conventions, zero_at_the_kinks) {
  const auto at_zero = [](const Function& function) {
    return gradients_of({leaf({0}, {1})}, function)[0][0];
  };
  EXPECT_EQ(at_zero([](const auto& x) { return abs(x[0]); }), 0);
  EXPECT_EQ(at_zero([](const auto& x) { return sign(x[0]); }), 0);
  EXPECT_EQ(at_zero([](const auto& x) { return relu(x[0]); }), 0);
  EXPECT_EQ(at_zero([](const auto& x) { return vector_norm(x[0]); }), 0);
  EXPECT_EQ(at_zero([](const auto& x) { return hypot(x[0], x[0]); }), 0);
  EXPECT_EQ(at_zero([](const auto& x) { return asinh(x[0]); }), 1);
  EXPECT_EQ(at_zero([](const auto& x) { return sinh(x[0]); }), 1);
}

TEST(gradient_conventions, clip_passes_at_both_bounds) {
  EXPECT_EQ(gradients_of({leaf({-2, -1, 0, 1, 2}, {5})},
                         [](const auto& x) { return clip(x[0], -1.0, 1.0); }),
            (Rows{{0, 1, 1, 1, 0}}));
}

TEST(gradient_conventions, remainders_hold_the_quotient_constant) {
  const auto truncated = [](const std::vector<Tensor>& x) { return fmod(x[0], x[1]); };
  const auto floored = [](const std::vector<Tensor>& x) { return remainder(x[0], x[1]); };
  const auto inputs = [] { return std::vector{leaf({7, -7}, {2}), leaf({2, 2}, {2})}; };
  EXPECT_EQ(gradients_of(inputs(), truncated)[0], (std::vector<float>{1, 1}));
  EXPECT_EQ(gradients_of(inputs(), truncated)[1], (std::vector<float>{-3, 3}));
  EXPECT_EQ(gradients_of(inputs(), floored)[0], (std::vector<float>{1, 1}));
  EXPECT_EQ(gradients_of(inputs(), floored)[1], (std::vector<float>{-3, 4}));
}

TEST(gradient_conventions, pow_at_its_edges) {
  const auto power = [](const std::vector<Tensor>& x) { return pow(x[0], x[1]); };
  EXPECT_EQ(gradients_of({leaf({0, 3}, {2}), leaf({0, 0}, {2})}, power)[0],
            (std::vector<float>{0, 0}));
  EXPECT_EQ(gradients_of({leaf({0, 0}, {2}), leaf({2, 0}, {2})}, power)[1],
            (std::vector<float>{0, 0}));
}

TEST(gradient_conventions, prod_with_zeros_is_exact) {
  const auto product = [](const std::vector<Tensor>& x) { return prod(x[0]); };
  EXPECT_EQ(gradients_of({leaf({2, 0, 3}, {3})}, product), (Rows{{0, 6, 0}}));
  EXPECT_EQ(gradients_of({leaf({0, 0, 3}, {3})}, product), (Rows{{0, 0, 0}}));
}

TEST(gradient_conventions, where_leaks_no_nan_from_the_branch_not_taken) {
  const auto guarded = [](const std::vector<Tensor>& x) {
    return where(x[0] > 0.0, log(where(x[0] > 0.0, x[0], 1.0)), x[0]);
  };
  EXPECT_EQ(gradients_of({leaf({-1, 2}, {2})}, guarded), (Rows{{1, 0.5F}}));
  EXPECT_EQ(gradients_of({leaf({-200, 200}, {2})}, [](const auto& x) { return elu(x[0]); }),
            (Rows{{0, 1}}));
}

}  // namespace
}  // namespace remora
