#include <algorithm>
#include <random>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(search, searchsorted_agrees_with_lower_and_upper_bound) {
  const unsigned seed = 7041776;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int64_t size = 0; size < 20; ++size) {
    std::vector<int64_t> sequence(static_cast<size_t>(size));
    std::vector<int64_t> values(15);
    for (int64_t& element : sequence) element = static_cast<int64_t>(random() % 9);
    for (int64_t& element : values) element = static_cast<int64_t>(random() % 11) - 1;
    std::sort(sequence.begin(), sequence.end());
    std::vector<int64_t> lower;
    std::vector<int64_t> upper;
    for (const int64_t value : values) {
      lower.push_back(std::lower_bound(sequence.begin(), sequence.end(), value) - sequence.begin());
      upper.push_back(std::upper_bound(sequence.begin(), sequence.end(), value) - sequence.begin());
    }
    const Tensor s = integers(sequence, {size});
    const Tensor v = integers(values, {3, 5});
    expect_integers(searchsorted(s, v), lower, {3, 5});
    expect_integers(bucketize(v, s, true), upper, {3, 5});
  }
}

TEST(search, rows_are_searched_in_their_own_sequence_and_nan_comes_last) {
  expect_integers(searchsorted(integers({1, 2, 5, 6}, {2, 2}), integers({2, 2}, {2, 1})), {1, 0},
                  {2, 1});
  expect_integers(searchsorted(floats({1, 2}, {2}), floats({std::nanf(""), 9}, {2})), {2, 2}, {2});
  expect_error(kInvalid, "searchsorted", [] {
    searchsorted(integers({1, 2, 5, 6}, {2, 2}), integers({2}, {1, 1}));
  });
  expect_error(kInvalid, "bucketize", [] { bucketize(integers({1}, {1}), integers({2}, {1, 1})); });
}

TEST(search, running_extremes_take_the_last_of_equals_and_keep_nan) {
  const float nan = std::nanf("");
  const auto [largest, where_largest] = cummax(floats({1, 3, 3, 2, nan, 5}, {6}), 0);
  expect_floats(largest, {1, 3, 3, 3, nan, nan}, {6});
  expect_integers(where_largest, {0, 1, 2, 2, 4, 4}, {6});
  const auto [smallest, where_smallest] = cummin(integers({2, 2, 1, 3}, {4}), 0);
  expect_integers(smallest, {2, 2, 1, 1}, {4});
  expect_integers(where_smallest, {0, 1, 2, 2}, {4});
}

TEST(search, a_running_extreme_gives_its_gradient_to_the_element_it_names) {
  const Tensor x = leaf({1, 3, 3, 2}, {4});
  sum(cummax(x, 0).first * floats({1, 10, 100, 1000}, {4})).backward();
  expect_floats(*x.grad(), {1, 10, 1100, 0}, {4});
}

TEST(search, histogram_counts_the_closed_range) {
  expect_floats(histc(floats({0, 1, 2, 4, 4, 9, -1, std::nanf("")}, {8}), 2, 0, 4), {2, 3}, {2});
  expect_floats(histc(floats({3, 3}, {2}), 3), {0, 2, 0}, {3});
  expect_floats(histc(floats({}, {0}), 2), {0, 0}, {2});
  expect_error(kInvalid, "histc", [] { histc(floats({1}, {1}), 0); });
  expect_error(kInvalid, "histc", [] { histc(floats({1}, {1}), 2, 3.0, 1.0); });
}

TEST(search, trapezoid_takes_a_distance_or_positions) {
  const Tensor y = floats({1, 2, 4}, {3});
  expect_floats(trapezoid(y), {4.5}, {});
  expect_floats(trapezoid(y, {}, 2.0), {9}, {});
  expect_floats(trapezoid(y, floats({0, 2, 3}, {3})), {6}, {});
  expect_error(kInvalid, "trapezoid", [&] { trapezoid(reshape(y, {1, 3}), floats({0, 1}, {2})); });
}

}  // namespace
}  // namespace remora
