// Factorisations and solvers: what their results satisfy together.
#include <cmath>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.shape().str(), expected.shape().str());
  EXPECT_TRUE(allclose(actual, expected, tolerance, tolerance).item<bool>());
}

/// A batch of two well-conditioned matrices.
Tensor matrices() {
  return floats({4, 1, 2, 1, 3, 0, 2, 0, 5, 1, 2, 0, -1, 1, 3, 0, 2, 4}, {2, 3, 3});
}

TEST(factor, products_of_factors_give_the_matrix_back) {
  const Tensor x = matrices();
  const auto [p, l, u] = lu(x);
  expect_close(matmul(p, matmul(l, u)), x);
  const auto [q, r] = qr(x);
  expect_close(matmul(q, r), x);
  const auto [left, s, right] = svd(x, false);
  expect_close(matmul(left * unsqueeze(s, -2), right), x);
  const Tensor definite = matmul(x, transpose(x));
  expect_close(matmul(cholesky(definite), transpose(cholesky(definite))), definite, 1e-4);
  expect_close(cholesky(definite, true), transpose(cholesky(definite)));
  const auto [w, v] = eigh(definite);
  expect_close(matmul(v * unsqueeze(w, -2), transpose(v)), definite, 1e-4);
}

TEST(factor, full_factors_are_square_and_orthogonal) {
  const Tensor x = floats({1, 2, 3, 4, 5, 7}, {3, 2});
  const auto [q, r] = qr(x, true);
  EXPECT_EQ(q.shape(), (Shape{3, 3}));
  expect_close(matmul(transpose(q), q), eye(3, std::nullopt, test_device()));
  const auto [u, s, vh] = svd(x);
  EXPECT_EQ(u.shape(), (Shape{3, 3}));
  EXPECT_EQ(vh.shape(), (Shape{2, 2}));
  expect_close(matmul(u, transpose(u)), eye(3, std::nullopt, test_device()));
}

TEST(factor, solvers_agree) {
  const Tensor x = matrices();
  const Tensor b = floats({1, 2, 3, 4, 5, 6}, {3, 2});
  expect_close(matmul(x, solve(x, b)), broadcast_to(b, {2, 3, 2}));
  expect_close(matmul(solve(x, transpose(b), false), x), broadcast_to(transpose(b), {2, 2, 3}));
  expect_close(matmul(x, inv(x)), broadcast_to(eye(3, std::nullopt, test_device()), x.shape()));
  const auto [factors, order, parity] = lu_factor(x);
  expect_close(lu_solve(factors, order, b), solve(x, b));
  expect_close(lu_solve(factors, order, b, true, true), solve(transpose(x), b));
  const Tensor row = transpose(b);
  expect_close(lu_solve(factors, order, row, false), solve(x, row, false));
  expect_close(lu_solve(factors, order, row, false, true), solve(transpose(x), row, false));
  const Tensor definite = matmul(x, transpose(x));
  expect_close(cholesky_solve(b, cholesky(definite)), solve(definite, b), 1e-4);
  expect_close(cholesky_inverse(cholesky(definite, true), true), inv(definite), 1e-4);
  const Tensor vector = floats({1, 2, 3}, {3});
  expect_close(matmul(x, unsqueeze(solve(x, vector), -1)),
               broadcast_to(unsqueeze(vector, -1), {2, 3, 1}));
}

TEST(factor, determinants) {
  expect_close(det(matrices()), floats({43, 6}, {2}));
  const auto [sign, magnitude] = slogdet(floats({0, 1, 2, 0}, {2, 2}));
  expect_floats(sign, {-1}, {});
  expect_near(magnitude, {std::log(2.0F)}, 1e-6F);
  EXPECT_TRUE(std::isnan(logdet(floats({0, 1, 2, 0}, {2, 2})).item<float>()));
  expect_floats(det(floats({}, {0, 0})), {1}, {});
  const Tensor singular = leaf({1, 2, 2, 4}, {2, 2});
  det(singular).backward();
  expect_near(*singular.grad(), {4, -2, -2, 1}, 1e-5F);
}

TEST(factor, pseudo_inverse_rank_and_norms) {
  const Tensor x = floats({1, 2, 2, 4}, {2, 2});
  expect_close(matmul(matmul(x, pinv(x)), x), x);
  expect_integers(matrix_rank(x), {1}, {});
  expect_near(matrix_norm(x), {5}, 1e-6F);
  expect_near(matrix_norm(x, "nuc"), {5}, 1e-6F);
  expect_floats(matrix_norm(x, 1.0), {6}, {});
  expect_floats(matrix_norm(x, -INFINITY, {-2, -1}, true), {3}, {1, 1});
  expect_error(kInvalid, "order 3", [&] { matrix_norm(x, 3.0); });
  const Tensor turn = matrix_exp(floats({0, -1, 1, 0}, {2, 2}));
  expect_near(turn, {std::cos(1.0F), -std::sin(1.0F), std::sin(1.0F), std::cos(1.0F)}, 1e-6F);
  expect_close(matrix_power(x + eye(2, std::nullopt, test_device()), -2),
               inv(matrix_power(x + eye(2, std::nullopt, test_device()), 2)));
}

/// exp of [[a, -b], [b, a]], from its closed form.
std::vector<float> turn_of(double a, double b) {
  const double length = std::exp(a);
  const auto c = static_cast<float>(length * std::cos(b));
  const auto s = static_cast<float>(length * std::sin(b));
  return {c, -s, s, c};
}

TEST(factor, exponentials_of_a_batch_do_not_depend_on_their_neighbours) {
  const Tensor small = floats({0.1F, -0.2F, 0.2F, 0.1F}, {2, 2});
  const Tensor tiny = floats({1e-4F, -2e-4F, 2e-4F, 1e-4F}, {2, 2});
  // Its sum of magnitudes is beyond f32.
  const Tensor huge = floats({-3e38F, -3e38F, 3e38F, -3e38F}, {2, 2});
  const Tensor results = matrix_exp(stack({small, huge, tiny}));
  expect_near(results[0], turn_of(0.1, 0.2), 2e-7F);
  expect_near(results[1], {0, 0, 0, 0}, 0);
  expect_near(results[2], turn_of(1e-4, 2e-4), 2e-7F);
  expect_near(matrix_exp(huge), {0, 0, 0, 0}, 0);
  EXPECT_EQ(results[0].to_vector<float>(), matrix_exp(small).to_vector<float>());
}

TEST(factor, exponentials_reach_the_ends_of_f64) {
  const auto of = [](const std::vector<double>& values) {
    return matrix_exp(from_data(values, {2, 2}, test_device())).to_vector<double>();
  };
  EXPECT_EQ(of({-1.7e308, 0, 0, 0}), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(of({0, 1e300, 0, 0}), (std::vector<double>{1, 1e300, 0, 1}));
  EXPECT_EQ(of({0, 0, 0, 0}), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_TRUE(std::isnan(of({NAN, 0, 0, 0})[0]));
}

TEST(factor, gradients_of_exponentials_are_those_of_each_matrix_alone) {
  const Tensor x = leaf({0.1F, -0.2F, 0.3F, 0.1F, 3, -2, 1, 4}, {2, 2, 2});
  sum(matrix_exp(x) * floats({1, 2, 3, 4, 1, 2, 3, 4}, {2, 2, 2})).backward();
  for (int64_t i = 0; i < 2; ++i) {
    const Tensor alone = x.detach()[i].require_grad();
    sum(matrix_exp(alone) * floats({1, 2, 3, 4}, {2, 2})).backward();
    expect_near((*x.grad())[i], alone.grad()->to_vector<float>(), 1e-6F);
  }
}

TEST(factor, what_has_no_factors_is_refused) {
  expect_error(kInvalid, "not positive definite", [] {
    cholesky(floats({1, 2, 2, 1}, {2, 2})).to_vector<float>();
  });
  expect_error(kInvalid, "singular", [] { inv(floats({1, 2, 2, 4}, {2, 2})).to_vector<float>(); });
  expect_error(kInvalid, "not finite", [] {
    svd(floats({1, NAN, 2, 4}, {2, 2}));
    std::get<1>(svd(floats({1, NAN, 2, 4}, {2, 2}))).to_vector<float>();
  });
  expect_error(kInvalid, "square", [] { inv(floats({1, 2}, {1, 2})); });
  expect_error(kInvalid, "takes matrices", [] { svd(floats({1, 2}, {2})); });
  expect_error(kInvalid, "floating-point", [] { det(integers({1}, {1, 1})); });
}

}  // namespace
}  // namespace remora
