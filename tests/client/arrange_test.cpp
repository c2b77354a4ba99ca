#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(arrange, diagonals_go_where_numpy_puts_them) {
  expect_integers(diag(integers({1, 2}, {2}), 1), {0, 1, 0, 0, 0, 2, 0, 0, 0}, {3, 3});
  expect_integers(diag(integers({1, 2}, {2}), -1), {0, 0, 0, 1, 0, 0, 0, 2, 0}, {3, 3});
  expect_integers(diag(integers({1, 2, 3, 4, 5, 6}, {2, 3}), 1), {2, 6}, {2});
  expect_integers(diag_embed(integers({1, 2}, {1, 2}), 0, 0, 2), {1, 0, 0, 2}, {2, 1, 2});
  expect_integers(diagonal_scatter(integers({1, 2, 3, 4, 5, 6}, {2, 3}), integers({8, 9}, {2}), 1),
                  {1, 8, 3, 4, 5, 9}, {2, 3});
  expect_integers(block_diag({integers({1, 2}, {2}), integers({3}, {1, 1})}), {1, 2, 0, 0, 0, 3},
                  {2, 3});
}

TEST(arrange, values_beside_a_diagonal_do_not_leak_into_it) {
  const float nan = std::nanf("");
  expect_floats(diag(floats({nan, 1}, {2})), {nan, 0, 0, 1}, {2, 2});
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor source = leaf({5, 6}, {2});
  sum(diagonal_scatter(x, source) * floats({1, 2, 3, 4}, {2, 2})).backward();
  expect_floats(*x.grad(), {0, 2, 3, 0}, {2, 2});
  expect_floats(*source.grad(), {1, 4}, {2});
}

TEST(arrange, what_is_no_diagonal_is_refused) {
  const Tensor cube = floats(std::vector<float>(8), {2, 2, 2});
  expect_error(kInvalid, "diag", [&] { diag(cube); });
  expect_error(kInvalid, "same", [&] { diag_embed(cube, 0, 1, 1); });
  expect_error(kInvalid, "the diagonal is [2]", [] {
    diagonal_scatter(floats({1, 2, 3, 4}, {2, 2}), floats({1}, {1}));
  });
  expect_error(kInvalid, "block_diag", [&] { block_diag({cube}); });
  expect_error(kInvalid, "limit", [] { tril_indices(INT64_MAX, 2); });
}

TEST(arrange, triangles_list_rows_then_columns) {
  expect_integers(tril_indices(2, 3), {0, 1, 1, 0, 0, 1}, {2, 3});
  expect_integers(triu_indices(2, 3, 1), {0, 0, 1, 1, 2, 2}, {2, 3});
}

TEST(arrange, borders_follow_their_mode) {
  const Tensor x = integers({1, 2, 3}, {3});
  expect_integers(pad(x, Dims{2, 1}, PadMode::kConstant, 9), {9, 9, 1, 2, 3, 9}, {6});
  expect_integers(pad(x, Dims{2, 1}, PadMode::kReflect), {3, 2, 1, 2, 3, 2}, {6});
  expect_integers(pad(x, Dims{2, 1}, PadMode::kReplicate), {1, 1, 1, 2, 3, 3}, {6});
  expect_integers(pad(x, Dims{2, 1}, PadMode::kCircular), {2, 3, 1, 2, 3, 1}, {6});
  expect_integers(pad(x, Dims{-1, 1}, PadMode::kReplicate), {2, 3, 3}, {3});
  expect_error(kInvalid, "too large", [&] { pad(x, Dims{3, 0}, PadMode::kReflect); });
  expect_error(kInvalid, "too large", [&] { pad(x, Dims{4, 0}, PadMode::kCircular); });
  expect_error(kInvalid, "do not fit", [&] { pad(x, Dims{1, 1, 1, 1}, PadMode::kReflect); });
}

TEST(arrange, windows_become_the_last_axis) {
  const Tensor x = integers({0, 1, 2, 3, 4}, {5});
  expect_integers(unfold(x, 0, 3, 2), {0, 1, 2, 2, 3, 4}, {2, 3});
  const Tensor image = integers({0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 3, 3});
  expect_integers(unfold(image, Extent2d(2, 1), 1, 0, Extent2d(1, 2)), {0, 2, 3, 5, 3, 5, 6, 8},
                  {1, 2, 4});
  expect_floats(fold(floats({0, 2, 3, 5, 3, 5, 6, 8}, {1, 2, 4}), {3, 4}, {2, 1}, 1, 0, {1, 2}),
                {0, 0, 2, 0, 6, 0, 10, 0, 6, 0, 8, 0}, {1, 1, 3, 4});
  const Tensor columns = floats(std::vector<float>(16, 1.0F), {1, 4, 4});
  expect_floats(fold(columns, 2, 2, 1, 1, 2), {1, 1, 1, 1}, {1, 1, 2, 2});
  expect_error(kInvalid, "fold: columns", [&] { fold(columns, 3, 3); });
  expect_error(kInvalid, "fold", [&] { fold(columns, -1, 2); });
  expect_error(kInvalid, "elements", [&] { fold(columns, Extent2d(INT64_MAX), 2, 1, 1); });
  expect_error(kInvalid, "do not fit", [&] { unfold(x, 0, 6, 1); });
  expect_error(kInvalid, "do not fit", [&] { unfold(x, 0, 2, 0); });
  expect_error(kInvalid, "do not fit", [&] { unfold(x, 0, INT64_MAX, 1); });
  // The windows of the rows alone would fit.
  const Tensor plane = broadcast_to(image[0][0][0][0], {1, 1, 1 << 14, 1 << 14});
  expect_error(kInvalid, "unfold: windows of [1, 1, 8192, 8192, 8193, 8193]",
               [&] { unfold(plane, Extent2d(1 << 13)); });
}

TEST(arrange, even_splits_must_be_even) {
  const Tensor x = integers({0, 1, 2, 3, 4, 5}, {2, 3});
  EXPECT_EQ(hsplit(x, 3).size(), 3U);
  EXPECT_EQ(vsplit(x, Dims{1}).size(), 2U);
  expect_error(kInvalid, "hsplit", [&] { hsplit(x, 2); });
  expect_error(kInvalid, "hsplit", [&] { hsplit(x, 0); });
  expect_error(kInvalid, "dsplit", [&] { dsplit(x, 1); });
}

}  // namespace
}  // namespace remora
