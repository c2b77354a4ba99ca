// Sorting, what is chosen from a sorted axis, sets and counts.
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
const float kNaN = std::nanf("");

TEST(order, sort_is_stable_and_puts_nan_last_both_ways) {
  const Tensor x = floats({2, kNaN, 1, 2, -1}, {5});
  const auto [up, up_index] = sort(x);
  expect_floats(up, {-1, 1, 2, 2, kNaN}, {5});
  expect_integers(up_index, {4, 2, 0, 3, 1}, {5});
  const auto [down, down_index] = sort(x, 0, true);
  expect_floats(down, {2, 2, 1, -1, kNaN}, {5});
  expect_integers(down_index, {0, 3, 2, 4, 1}, {5});
  expect_integers(argsort(integers({3, 1, 2}, {3})), {1, 2, 0}, {3});
  expect_floats(sort(floats({7}, {})).first, {7}, {});
  expect_error(kInvalid, "sort", [&] { sort(x, 1); });
}

TEST(order, topk_and_kthvalue_take_the_lowest_of_equals) {
  const Tensor x = integers({5, 9, 9, 1, 5, 2}, {6});
  const auto [largest, index] = topk(x, 3);
  expect_integers(largest, {9, 9, 5}, {3});
  expect_integers(index, {1, 2, 0}, {3});
  expect_integers(topk(x, 2, 0, false).second, {3, 5}, {2});
  const auto [third, at] = kthvalue(x, 3);
  expect_integers(third, {5}, {});
  expect_integers(at, {0}, {});
  expect_error(kInvalid, "topk: k 7", [&] { topk(x, 7); });
  expect_error(kInvalid, "kthvalue: k 0", [&] { kthvalue(x, 0); });
}

TEST(order, median_is_the_lower_middle_and_nan_wins_unless_ignored) {
  const Tensor x = floats({4, 1, 3, 2, kNaN, 5, 1, 7}, {2, 4});
  expect_floats(median(x, 1).first, {2, kNaN}, {2});
  expect_integers(median(x, 1).second, {3, 0}, {2});
  expect_floats(nanmedian(x, 1).first, {2, 5}, {2});
  expect_floats(median(x), {kNaN}, {});
  expect_floats(nanmedian(x), {3}, {});
  expect_integers(median(integers({3, 1, 2}, {3})), {2}, {});
  expect_error(kInvalid, "median", [] { median(floats({}, {0}), 0); });
}

TEST(order, quantile_interpolates_between_neighbours) {
  const Tensor x = floats({1, 5, 3, 9}, {4});
  expect_floats(quantile(x, 0.5), {4}, {});
  expect_floats(quantile(x, floats({0, 0.25, 1}, {3})), {1, 2.5, 9}, {3});
  expect_floats(quantile(x, 0.25, 0, true, QuantileForm::kLower), {1}, {1});
  expect_floats(quantile(x, 0.25, 0, false, QuantileForm::kHigher), {3}, {});
  expect_floats(quantile(x, 0.25, 0, false, QuantileForm::kMidpoint), {2}, {});
  expect_floats(quantile(floats({1, kNaN}, {2}), 0.5), {kNaN}, {});
  expect_floats(nanquantile(floats({1, kNaN, 3}, {3}), 0.5), {2}, {});
  expect_error(kInvalid, "q 1.5", [&] { quantile(x, 1.5); });
}

TEST(order, nonzero_gives_indices_in_row_major_order) {
  const Tensor x = integers({0, 7, 0, 1, 2, 0}, {2, 3});
  expect_integers(nonzero(x), {0, 1, 1, 0, 1, 1}, {3, 2});
  expect_integers(nonzero_by_axis(x)[1], {1, 0, 1}, {3});
  expect_integers(nonzero(integers({0, 0}, {2})), {}, {0, 1});
  expect_integers(argwhere(integers({5}, {})), {}, {1, 0});
  expect_integers(nonzero(floats({}, {0, 3})), {}, {0, 2});
}

TEST(order, masked_select_broadcasts_and_differentiates) {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor chosen = masked_select(x, booleans({true, false, true, false, true, true}, {2, 3}));
  expect_floats(chosen, {1, 3, 2, 3}, {4});
  sum(chosen).backward();
  expect_floats(*x.grad(), {1, 1, 2}, {3});
  expect_error(kInvalid, "mask", [&] { masked_select(x, integers({1}, {1})); });
}

TEST(order, unique_sorts_and_counts_and_says_where_each_input_went) {
  const Distinct found = unique(integers({3, 1, 3, 2, 1, 3}, {2, 3}));
  expect_integers(found.values, {1, 2, 3}, {3});
  expect_integers(found.inverse, {2, 0, 2, 1, 0, 2}, {2, 3});
  expect_integers(found.counts, {2, 1, 3}, {3});
  const Distinct rows = unique(integers({2, 1, 1, 5, 2, 1}, {3, 2}), 0);
  expect_integers(rows.values, {1, 5, 2, 1}, {2, 2});
  expect_integers(rows.inverse, {1, 0, 1}, {3});
  const Distinct runs = unique_consecutive(integers({1, 1, 2, 1}, {4}));
  expect_integers(runs.values, {1, 2, 1}, {3});
  expect_integers(runs.counts, {2, 1, 1}, {3});
  expect_integers(unique(integers({}, {0})).values, {}, {0});
}

TEST(order, isin_finds_candidates) {
  const Tensor x = integers({1, 2, 3, 4}, {2, 2});
  expect_booleans(isin(x, integers({4, 2, 9}, {3})), {false, true, false, true}, {2, 2});
  expect_booleans(isin(x, integers({4, 2}, {2}), true), {true, false, true, false}, {2, 2});
  expect_booleans(isin(x, integers({}, {0})), {false, false, false, false}, {2, 2});
}

TEST(order, repeats_by_count_and_classes_by_the_largest) {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor repeated = repeat_interleave(x, integers({2, 0, 1}, {3}));
  expect_floats(repeated, {1, 1, 3}, {3});
  sum(repeated).backward();
  expect_floats(*x.grad(), {2, 0, 1}, {3});
  expect_error(kInvalid, "negative", [&] { repeat_interleave(x, integers({2, -1, 1}, {3})); });
  constexpr int64_t kHuge = int64_t{1} << 62;
  expect_error(kInvalid, "the limit is", [&] {
    repeat_interleave(x, integers({kHuge, kHuge, 2}, {3}));
  });
  expect_integers(one_hot(integers({2, 0}, {2})), {0, 0, 1, 1, 0, 0}, {2, 3});
}

TEST(order, counts_by_value_and_by_bin) {
  expect_integers(bincount(integers({1, 3, 1}, {3})), {0, 2, 0, 1}, {4});
  expect_integers(bincount(integers({1}, {1}), Tensor(), 4), {0, 1, 0, 0}, {4});
  expect_floats(bincount(integers({1, 1}, {2}), floats({0.5, 2}, {2})), {0, 2.5}, {2});
  expect_error(kInvalid, "scatter_add", [] {
    bincount(integers({-1, 2}, {2})).to_vector<int64_t>();
  });
  const auto [counts, edges] = histogram(floats({0, 1, 2, 4}, {4}), 2, 0.0, 4.0);
  expect_floats(counts, {2, 2}, {2});
  expect_floats(edges, {0, 2, 4}, {3});
  const auto [densities, own] =
      histogram(floats({1, 2, 3}, {3}), floats({0, 2, 4}, {3}), Tensor(), true);
  expect_near(densities, {1.0F / 6, 1.0F / 3}, 1e-6F);
}

TEST(order, histograms_of_what_has_no_range_are_refused) {
  for (const float element : {std::nanf(""), INFINITY}) {
    const Tensor x = floats({1, element, 3}, {3});
    expect_error(kInvalid, "index", [&] {
      (void)histogram(x, 2, std::nullopt, std::nullopt).first.to_vector<float>();
    });
    expect_error(kInvalid, "index", [&] { (void)histc(x, 2).to_vector<float>(); });
    // With a range, what lies outside counts nowhere.
    expect_floats(histogram(x, 2, 0.0, 4.0).first, {1, 1}, {2});
    expect_floats(histc(x, 2, 0.0, 4.0), {1, 1}, {2});
  }
  expect_error(kInvalid, "[0, inf] is no range",
               [] { histogram(floats({1}, {1}), 2, 0.0, INFINITY); });
  expect_error(kInvalid, "[0, inf] is no range", [] { histc(floats({1}, {1}), 2, 0.0, INFINITY); });
}

}  // namespace
}  // namespace remora
