// Putting and combining elements where an index says.
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(scatter, the_last_of_an_index_wins_forward_and_backward) {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor source = leaf({10, 20, 30}, {3});
  const Tensor result = scatter(x, 0, integers({1, 1, 0}, {3}), source);
  expect_floats(result, {30, 20, 3}, {3});
  sum(result * floats({1, 10, 100}, {3})).backward();
  expect_floats(*x.grad(), {0, 0, 100}, {3});
  expect_floats(*source.grad(), {0, 10, 1}, {3});
  expect_integers(scatter(integers({1, 2}, {2}), 0, integers({1}, {1}), 7), {1, 7}, {2});
}

TEST(scatter, reductions_with_and_without_the_tensor_itself) {
  const Tensor x = floats({2, 3, 4}, {3});
  const Tensor index = integers({0, 0, 2}, {3});
  const Tensor source = floats({5, 1, 6}, {3});
  expect_floats(scatter_reduce(x, 0, index, source, "sum"), {8, 3, 10}, {3});
  expect_floats(scatter_reduce(x, 0, index, source, "prod", false), {5, 3, 6}, {3});
  expect_floats(scatter_reduce(x, 0, index, source, "amax"), {5, 3, 6}, {3});
  expect_floats(scatter_reduce(x, 0, index, source, "amin", false), {1, 3, 6}, {3});
  expect_floats(scatter_reduce(x, 0, index, source, "mean"), {8.0F / 3, 3, 5}, {3});
  expect_error(kInvalid, "reduction \"max\"", [&] { scatter_reduce(x, 0, index, source, "max"); });
}

TEST(scatter, a_product_with_zeros_has_an_exact_gradient) {
  const Tensor x = leaf({2, 0, 3}, {3});
  const Tensor source = leaf({0, 5, 0, 0}, {4});
  sum(scatter_reduce(x, 0, integers({0, 0, 1, 2}, {4}), source, "prod")).backward();
  expect_floats(*x.grad(), {0, 0, 0}, {3});
  expect_floats(*source.grad(), {10, 0, 0, 3}, {4});
}

TEST(scatter, extremes_share_the_gradient_among_equals) {
  const Tensor x = leaf({4, 1}, {2});
  const Tensor source = leaf({4, 2, 4}, {3});
  sum(scatter_reduce(x, 0, integers({0, 1, 0}, {3}), source, "amax")).backward();
  expect_near(*x.grad(), {1.0F / 3, 0}, 1e-6F);
  expect_near(*source.grad(), {1.0F / 3, 1, 1.0F / 3}, 1e-6F);
}

TEST(scatter, index_functions_take_whole_slices) {
  const Tensor x = integers({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor rows = integers({2, 0}, {2});
  expect_integers(index_copy(x, 0, rows, integers({7, 8, 9, 10}, {2, 2})), {9, 10, 3, 4, 7, 8},
                  {3, 2});
  expect_integers(index_fill(x, 1, integers({0}, {1}), 0), {0, 2, 0, 4, 0, 6}, {3, 2});
  expect_integers(index_reduce(x, 0, rows, integers({2, 2, 2, 2}, {2, 2}), "prod"),
                  {2, 4, 3, 4, 10, 12}, {3, 2});
  expect_error(kInvalid, "index_copy", [&] { index_copy(x, 0, rows, integers({1, 2}, {1, 2})); });
}

TEST(scatter, masked_scatter_takes_elements_in_order) {
  const Tensor x = integers({0, 0, 0, 0}, {2, 2});
  const Tensor mask = booleans({true, false, true, true}, {2, 2});
  expect_integers(masked_scatter(x, mask, integers({7, 8, 9, 10}, {4})), {7, 0, 8, 9}, {2, 2});
  expect_error(kInvalid, "gather",
               [&] { masked_scatter(x, mask, integers({7}, {1})).to_vector<int64_t>(); });
}

TEST(scatter, tuples_of_indices_name_elements_and_slices) {
  const Tensor x = integers({1, 2, 3, 4, 5, 6}, {3, 2});
  expect_integers(gather_nd(x, integers({2, 0, 0, 1}, {2, 2})), {5, 2}, {2});
  expect_integers(gather_nd(x, integers({1}, {1})), {3, 4}, {2});
  expect_integers(scatter_nd(x, integers({2, 0}, {1, 2}), integers({9}, {1})), {1, 2, 3, 4, 9, 6},
                  {3, 2});
  expect_integers(scatter_nd(x, integers({0, 0}, {2, 1}), integers({1, 1, 1, 1}, {2, 2}), true),
                  {3, 4, 3, 4, 5, 6}, {3, 2});
  // An index out of its axis does not fall into the next row.
  expect_error(kInvalid, "out of range", [&] {
    gather_nd(x, integers({0, 2}, {1, 2})).to_vector<int64_t>();
  });
}

TEST(scatter, index_follows_numpy) {
  const Tensor x = reshape(arange(0, 24, 1, test_device()), {2, 3, 4});
  expect_integers(index(x, {integers({1, 0}, {2}), integers({-1, 1}, {2})}),
                  {20, 21, 22, 23, 4, 5, 6, 7}, {2, 4});
  EXPECT_EQ(index(x, {Tensor(), integers({0, 2}, {2})}).shape(), (Shape{2, 2, 4}));
  EXPECT_EQ(index(x, {integers({0}, {1}), Tensor(), integers({1, 2}, {2})}).shape(), (Shape{2, 3}));
  expect_integers(index(x, {booleans({false, true}, {2}), integers({0}, {1})}), {12, 13, 14, 15},
                  {1, 4});
  const Tensor flat = integers({1, 2, 3}, {3});
  expect_integers(index_put(flat, {integers({0, -1}, {2})}, 9), {9, 2, 9}, {3});
  expect_integers(index_put(flat, {integers({0, 0}, {2})}, integers({5, 6}, {2}), true), {12, 2, 3},
                  {3});
}

}  // namespace
}  // namespace remora
