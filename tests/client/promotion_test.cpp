#include "dispatch/device_state.h"
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(promotion, wider_category_wins_between_tensors) {
  const Tensor b = booleans({true, false}, {2});
  const Tensor i = integers({3, 4}, {2});
  const Tensor f = floats({0.5F, 1.5F}, {2});
  EXPECT_EQ((b + i).dtype(), DType::kI64);
  EXPECT_EQ((i + f).dtype(), DType::kF32);
  EXPECT_EQ((b * f).dtype(), DType::kF32);
  expect_floats(i + f, {3.5F, 5.5F}, {2});
}

TEST(promotion, rank_0_tensors_are_ordinary_tensors) {
  EXPECT_EQ((integers({1}, {1}) + floats({0.5F}, {})).dtype(), DType::kF32);
}

TEST(promotion, numbers_take_the_tensors_dtype_unless_their_category_is_higher) {
  const Tensor i = integers({1, 2}, {2});
  expect_integers(i + 1, {2, 3}, {2});
  expect_integers(2 - i, {1, 0}, {2});
  expect_floats(i + 0.5, {1.5F, 2.5F}, {2});
  expect_floats(1.0F - i, {0.0F, -1.0F}, {2});
  expect_integers(i + true, {2, 3}, {2});
  const Tensor b = booleans({true, false}, {2});
  expect_integers(b + 1, {2, 1}, {2});
  expect_floats(b * 0.5, {0.5F, 0.0F}, {2});
  expect_floats(floats({1}, {1}) * 3, {3}, {1});
}

TEST(promotion, large_integers_keep_all_bits) {
  const int64_t large = (int64_t{1} << 62) + 1;
  expect_integers(integers({0}, {1}) + large, {large}, {1});
}

TEST(promotion, booleans_add_as_or_multiply_as_and_and_do_not_subtract) {
  const Tensor a = booleans({true, true, false, false}, {4});
  const Tensor b = booleans({true, false, true, false}, {4});
  expect_booleans(a + b, {true, true, true, false}, {4});
  expect_booleans(a * b, {true, false, false, false}, {4});
  expect_error(kInvalid, "logical_xor", [&] { a - b; });
  expect_integers(square(a), {1, 1, 0, 0}, {4});
  expect_integers(pow(a, b), {1, 1, 0, 1}, {4});
  expect_booleans(maximum(a, b), {true, true, true, false}, {4});
}

TEST(promotion, division_and_float_functions_of_integers_give_f32) {
  expect_floats(integers({1, 3}, {2}) / 2, {0.5F, 1.5F}, {2});
  expect_floats(integers({4, 9}, {2}) / integers({2, 2}, {2}), {2.0F, 4.5F}, {2});
  expect_floats(sqrt(integers({4, 9}, {2})), {2, 3}, {2});
  EXPECT_EQ(exp(booleans({true}, {1})).dtype(), DType::kF32);
}

TEST(promotion, comparisons_give_bool) {
  const Tensor i = integers({1, 2, 3}, {3});
  expect_booleans(i < 2, {true, false, false}, {3});
  expect_booleans(2.5 < i, {false, false, true}, {3});
  expect_booleans(i == integers({1, 0, 3}, {3}), {true, false, true}, {3});
  expect_booleans(i != 2, {true, false, true}, {3});
  expect_booleans(i >= 2, {false, true, true}, {3});
}

TEST(promotion, sums_of_booleans_and_integers_are_i64_and_means_are_refused) {
  expect_integers(sum(booleans({true, true, false}, {3})), {2}, {});
  expect_integers(sum(integers({1, 2}, {2})), {3}, {});
  expect_error(kInvalid, "mean", [] { mean(integers({1, 2}, {2})); });
  expect_floats(mean(integers({1, 2}, {2}), {}, false, DType::kF32), {1.5F}, {});
}

TEST(promotion, casts_truncate_and_saturate) {
  const Tensor x = floats({1.9F, -1.9F, 1e30F, -1e30F, NAN}, {5});
  expect_integers(x.astype(DType::kI64), {1, -1, INT64_MAX, INT64_MIN, 0}, {5});
  expect_booleans(floats({0.0F, -0.5F, 2.0F}, {3}).astype(DType::kBool), {false, true, true}, {3});
}

TEST(promotion, i64_with_u64_is_refused) {
  EXPECT_EQ(promote(DType::kI64, DType::kU64), std::nullopt);
}

TEST(promotion, a_changing_number_never_changes_a_plan) {
  const Device device = test_device();
  const Tensor x = floats({1, 2, 3}, {3});
  (x * 0.5).to_vector<float>();
  const uint64_t before = device.state().stats().plan_misses;
  for (int i = 0; i < 5; ++i) expect_floats(x * (0.25 * i), {0.25F * i, 0.5F * i, 0.75F * i}, {3});
  EXPECT_EQ(device.state().stats().plan_misses, before);
}

}  // namespace
}  // namespace remora
