#include <numeric>
#include <random>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor counting(const Shape& shape) {
  std::vector<int64_t> values(static_cast<size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0);
  return integers(values, shape);
}

TEST(slicing, bounds_are_clamped_and_negative_indices_count_from_the_end) {
  const Tensor x = counting({6});
  expect_integers(x.slice(0, 1, 3), {1, 2}, {2});
  expect_integers(x.slice(0, -2, std::nullopt), {4, 5}, {2});
  expect_integers(x.slice(0, std::nullopt, -4), {0, 1}, {2});
  expect_integers(x.slice(0, -100, 100), {0, 1, 2, 3, 4, 5}, {6});
  expect_integers(x.slice(0, 4, 2), {}, {0});
  expect_integers(x.slice(0, 100, 200), {}, {0});
  expect_integers(x.slice(-1, 2, 4), {2, 3}, {2});
}

TEST(slicing, steps_walk_in_both_directions) {
  const Tensor x = counting({6});
  expect_integers(x.slice(0, std::nullopt, std::nullopt, 2), {0, 2, 4}, {3});
  expect_integers(x.slice(0, 1, std::nullopt, 4), {1, 5}, {2});
  expect_integers(x.slice(0, std::nullopt, std::nullopt, -1), {5, 4, 3, 2, 1, 0}, {6});
  expect_integers(x.slice(0, -2, 0, -2), {4, 2}, {2});
  expect_integers(x.slice(0, 2, -100, -1), {2, 1, 0}, {3});
  expect_integers(x.slice(0, 3, std::nullopt, INT64_MAX), {3}, {1});
  expect_integers(x.slice(0, 3, std::nullopt, INT64_MIN), {3}, {1});
}

/// Python's definition of start:end:step, by walking.
std::vector<int64_t> walk(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end,
                          int64_t step) {
  const auto fix = [&](int64_t bound) {
    if (bound < 0) bound += size;
    if (step > 0) return std::min(std::max<int64_t>(bound, 0), size);
    return std::min(std::max<int64_t>(bound, -1), size - 1);
  };
  const int64_t first = start ? fix(*start) : (step > 0 ? 0 : size - 1);
  const int64_t last = end ? fix(*end) : (step > 0 ? size : -1);
  std::vector<int64_t> result;
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) result.push_back(i);
  return result;
}

TEST(slicing, agrees_with_pythons_definition) {
  const unsigned seed = 20240611;
  std::mt19937 random(seed);
  SCOPED_TRACE(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 300; ++i) {
    const int64_t size = draw(0, 7);
    const auto start = draw(0, 3) == 0 ? std::nullopt : std::optional(draw(-9, 9));
    const auto end = draw(0, 3) == 0 ? std::nullopt : std::optional(draw(-9, 9));
    int64_t step = draw(-4, 4);
    if (step == 0) step = 1;
    const auto expected = walk(size, start, end, step);
    ASSERT_EQ(counting({size}).slice(0, start, end, step).to_vector<int64_t>(), expected)
        << size << ": " << start.value_or(-99) << " " << end.value_or(-99) << " " << step;
  }
}

TEST(slicing, refuses_a_step_of_0_and_an_axis_that_is_not_there) {
  const Tensor x = counting({2, 3});
  expect_error(kInvalid, "slice: the step is 0", [&] { x.slice(0, 0, 1, 0); });
  expect_error(kInvalid, "axis 2 is outside [-2, 1]", [&] { x.slice(2, 0, 1); });
  expect_error(kInvalid, "without axes", [] { counting({}).slice(0, 0, 1); });
}

TEST(slicing, select_removes_the_axis) {
  const Tensor x = counting({2, 3});
  expect_integers(x.select(0, 1), {3, 4, 5}, {3});
  expect_integers(x.select(1, -1), {2, 5}, {2});
  expect_integers(x[0][2], {2}, {});
  expect_error(kInvalid, "index 2 is outside an axis of 2 elements", [&] { x.select(0, 2); });
  expect_error(kInvalid, "index -4", [&] { x.select(1, -4); });
}

TEST(slicing, slice_assign_replaces_what_slice_would_take) {
  const Tensor x = counting({6});
  expect_integers(slice_assign(x, integers({7, 8}, {2}), 0, 1, 3), {0, 7, 8, 3, 4, 5}, {6});
  expect_integers(slice_assign(x, -1, 0, std::nullopt, std::nullopt, 2), {-1, 1, -1, 3, -1, 5},
                  {6});
  expect_integers(slice_assign(x, integers({1, 2, 3}, {3}), 0, std::nullopt, 2, -1),
                  {0, 1, 2, 3, 2, 1}, {6});
  expect_integers(x, {0, 1, 2, 3, 4, 5}, {6});
}

TEST(slicing, parts_cover_the_axis) {
  const Tensor x = counting({7});
  const auto lengths = [](const Tensors& parts) {
    std::vector<int64_t> sizes;
    for (const Tensor& part : parts) sizes.push_back(part.numel());
    return sizes;
  };
  EXPECT_EQ(lengths(split(x, int64_t{3})), (std::vector<int64_t>{3, 3, 1}));
  EXPECT_EQ(lengths(chunk(x, 3)), (std::vector<int64_t>{3, 3, 1}));
  EXPECT_EQ(lengths(tensor_split(x, int64_t{3})), (std::vector<int64_t>{3, 2, 2}));
  EXPECT_EQ(lengths(tensor_split(x, Dims{2, 5})), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(lengths(split(x, Dims{1, 6})), (std::vector<int64_t>{1, 6}));
  expect_error(kInvalid, "split", [&] { split(x, Dims{1, 5}); });
  expect_error(kInvalid, "narrow", [&] { narrow(x, 0, 5, 3); });
}

TEST(slicing, rearrangements) {
  const Tensor x = counting({2, 3});
  expect_integers(flip(x), {5, 4, 3, 2, 1, 0}, {2, 3});
  expect_integers(flip(x, 1), {2, 1, 0, 5, 4, 3}, {2, 3});
  expect_integers(rot90(x), {2, 5, 1, 4, 0, 3}, {3, 2});
  expect_integers(rot90(x, -1), {3, 0, 4, 1, 5, 2}, {3, 2});
  expect_integers(roll(x, {1}), {5, 0, 1, 2, 3, 4}, {2, 3});
  expect_integers(roll(x, {-1}, {1}), {1, 2, 0, 4, 5, 3}, {2, 3});
  expect_integers(diagonal(x, 1), {1, 5}, {2});
  expect_integers(diagonal(x, -1), {3}, {1});
  expect_integers(diagonal(x, 9), {}, {0});
  expect_integers(pad(x, {1, 0}, 9), {9, 0, 1, 2, 9, 3, 4, 5}, {2, 4});
  expect_integers(pad(x, {-1, 0, 0, 1}), {1, 2, 4, 5, 0, 0}, {3, 2});
  expect_integers(transpose(x), {0, 3, 1, 4, 2, 5}, {3, 2});
  expect_integers(movedim(counting({1, 2, 3}), {2}, {0}), {0, 3, 1, 4, 2, 5}, {3, 1, 2});
  expect_integers(repeat(counting({2}), {2, 2}), {0, 1, 0, 1, 0, 1, 0, 1}, {2, 4});
  expect_integers(repeat_interleave(counting({2}), 2), {0, 0, 1, 1}, {4});
}

TEST(slicing, reshape_infers_one_size) {
  EXPECT_EQ(reshape(counting({2, 6}), {3, -1}).shape(), (Shape{3, 4}));
  expect_error(kInvalid, "at most one may be -1", [] { reshape(counting({4}), {-1, -1}); });
  expect_error(kInvalid, "reshape: sizes [-2, 3]: -2 is no size", [] {
    reshape(counting({6}), {-2, 3});
  });
  expect_error(kInvalid, "do not fill", [] { reshape(counting({4}), {3, -1}); });
  EXPECT_EQ(squeeze(counting({1, 3, 1})).shape(), (Shape{3}));
  EXPECT_EQ(squeeze(counting({1, 3, 1}), 0).shape(), (Shape{3, 1}));
  EXPECT_EQ(unflatten(counting({6}), 0, {2, -1}).shape(), (Shape{2, 3}));
}

}  // namespace
}  // namespace remora
