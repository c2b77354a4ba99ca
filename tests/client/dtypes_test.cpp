// Tensors of every element type: data in and out, promotion, printing, functions of 16-bit floats,
// training in each float.
#include <limits>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

template <typename T>
class EveryCppType : public testing::Test {};
using CppTypes = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                                uint64_t, float, double>;
TYPED_TEST_SUITE(EveryCppType, CppTypes);

TYPED_TEST(EveryCppType, data_comes_back_and_wraps_or_rounds_in_its_own_type) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> values = {Limits::lowest(), TypeParam(0), TypeParam(3),
                                         Limits::max()};
  const Tensor x = from_data(values, {4}, test_device());
  EXPECT_EQ(x.dtype(), DTypeOf<TypeParam>::kValue);
  EXPECT_EQ(x.to_vector<TypeParam>(), values);
  EXPECT_EQ(x[3].item<TypeParam>(), Limits::max());
  EXPECT_EQ(x[0].item<TypeParam>(), Limits::lowest());
  const Tensor doubled = x + x;
  EXPECT_EQ(doubled.dtype(), x.dtype());
  const TypeParam twice_largest =
      Limits::is_integer ? static_cast<TypeParam>(-2) : Limits::infinity();
  EXPECT_EQ(doubled[3].item<TypeParam>(), twice_largest);
  EXPECT_EQ((x * 2)[2].item<TypeParam>(), TypeParam(6));
  EXPECT_EQ((x * 2).dtype(), x.dtype());
  EXPECT_EQ(x.astype(DType::kBool).to_vector<bool>(),
            (std::vector<bool>{Limits::lowest() != 0, false, true, true}));
}

TEST(dtypes, halves_are_read_as_float_and_made_by_astype) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = floats({1.0F, -2.5F, 1.0009766F, 1e30F}, {4}).astype(dtype);
    const std::vector<float> read = x.to_vector<float>();
    EXPECT_EQ(read[0], 1.0F);
    EXPECT_EQ(read[1], -2.5F);
    EXPECT_EQ(read[2], dtype == DType::kF16 ? 1.0009766F : 1.0F);
    EXPECT_EQ(std::isinf(read[3]), dtype == DType::kF16);
    EXPECT_EQ(x[1].item<float>(), -2.5F);
    EXPECT_EQ(x[1].item<int>(), -2);
    expect_error(kInvalid, "convert the tensor with astype", [&] { x.to_vector<double>(); });
    const std::vector<uint16_t> bits = {0x3F80, 0x3C00};
    const Tensor raw = from_bytes(std::as_bytes(std::span(bits)), dtype, {2}, test_device());
    EXPECT_EQ(raw.to_vector<float>()[dtype == DType::kF16 ? 1 : 0], 1.0F);
  }
}

TEST(dtypes, promotion_takes_the_wider_and_the_higher_category) {
  const auto of = [](DType dtype) { return ones({1}, test_device(), dtype); };
  const auto sum_of = [&](DType a, DType b) { return (of(a) + of(b)).dtype(); };
  EXPECT_EQ(sum_of(DType::kU8, DType::kI8), DType::kI16);
  EXPECT_EQ(sum_of(DType::kU32, DType::kI32), DType::kI64);
  EXPECT_EQ(sum_of(DType::kU8, DType::kU16), DType::kU16);
  EXPECT_EQ(sum_of(DType::kI64, DType::kF16), DType::kF16);
  EXPECT_EQ(sum_of(DType::kF16, DType::kBF16), DType::kF32);
  EXPECT_EQ(sum_of(DType::kF32, DType::kF64), DType::kF64);
  EXPECT_EQ(sum_of(DType::kBool, DType::kI8), DType::kI8);
  expect_error(kInvalid, "i64 and u64 have no common type",
               [&] { sum_of(DType::kI64, DType::kU64); });
  EXPECT_EQ((of(DType::kF16) * 0.5).dtype(), DType::kF16);
  EXPECT_EQ((of(DType::kF64) * 0.1).item<double>(), 0.1);
  EXPECT_EQ((of(DType::kU8) * 0.5).dtype(), DType::kF32);
  EXPECT_EQ(exp(of(DType::kI16)).dtype(), DType::kF32);
  EXPECT_EQ(exp(of(DType::kBF16)).dtype(), DType::kBF16);
}

TEST(dtypes, sums_of_narrow_integers_are_64_bits_wide) {
  const Tensor u = full({300}, 255, test_device(), DType::kU8);
  EXPECT_EQ(sum(u).dtype(), DType::kU64);
  EXPECT_EQ(sum(u).item<int64_t>(), 300 * 255);
  const Tensor s = full({300}, -128, test_device(), DType::kI8);
  EXPECT_EQ(sum(s).dtype(), DType::kI64);
  EXPECT_EQ(sum(s).item<int64_t>(), -300 * 128);
  EXPECT_EQ(sum(u, {}, false, DType::kU8).item<int64_t>(), 300 * 255 % 256);
  EXPECT_EQ(amin(u - from_data(std::vector<uint8_t>(300, 1), {300}, test_device())).item<int>(),
            254);
}

TEST(dtypes, booleans_act_as_i64_in_arithmetic_other_than_sums_products_and_differences) {
  expect_integers(-booleans({true, false}, {2}), {-1, 0}, {2});
  expect_integers(positive(booleans({true, false}, {2})), {1, 0}, {2});
  expect_integers(abs(booleans({true}, {1})), {1}, {1});
  expect_integers(remainder(booleans({true}, {1}), booleans({true}, {1})), {0}, {1});
}

TEST(dtypes, integer_division_rounds_down_and_refuses_zero) {
  const Tensor x = integers({7, -7, 7, -7}, {4});
  const Tensor y = integers({2, 2, -2, -2}, {4});
  expect_integers(floor_divide(x, y), {3, -4, -4, 3}, {4});
  expect_integers(remainder(x, y), {1, 1, -1, -1}, {4});
  expect_integers(fmod(x, y), {1, -1, 1, -1}, {4});
  const Tensor bytes = from_data(std::vector<uint8_t>{200, 7}, {2}, test_device());
  EXPECT_EQ((floor_divide(bytes, 7)).to_vector<uint8_t>(), (std::vector<uint8_t>{28, 1}));
  expect_error(kInvalid, "remainder: element 1 of the divisor is 0", [&] {
    remainder(x, integers({1, 0, 1, 0}, {4})).to_vector<int64_t>();
  });
  expect_floats(floor_divide(floats({1.0F, -7.0F}, {2}), floats({0.1F, 2.0F}, {2})), {9, -4}, {2});
}

TEST(dtypes, a_u64_prints_all_its_values) {
  const std::vector<uint64_t> values = {0, std::numeric_limits<uint64_t>::max()};
  const std::string text = from_data(values, {2}, test_device()).str();
  EXPECT_NE(text.find("18446744073709551615]"), std::string::npos) << text;
  EXPECT_NE(text.find("dtype=u64"), std::string::npos) << text;
  EXPECT_NE(ones({2}, test_device(), DType::kBF16).str().find("[1., 1.], dtype=bf16"),
            std::string::npos);
}

TEST(dtypes, functions_of_halves_round_once_at_their_end) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    // The sum, 400,000, is more than an f16 holds.
    EXPECT_EQ(mean(full({100'000}, 4.0, test_device(), dtype)).item<float>(), 4.0F);
    const Tensor x = uniform({64, 33}, test_device(), -3.0, 3.0).astype(dtype);
    const Tensor wide = x.astype(DType::kF32);
    const auto expect_rounded = [&](const Tensor& half, const Tensor& exact) {
      EXPECT_EQ(half.dtype(), dtype);
      EXPECT_EQ(half.to_vector<float>(), exact.astype(dtype).to_vector<float>());
    };
    expect_rounded(var(x, 1), var(wide, 1));
    expect_rounded(logsumexp(x, 1), logsumexp(wide, 1));
    expect_rounded(softmax(x, 1), softmax(wide, 1));
    expect_rounded(log_softmax(x, 1), log_softmax(wide, 1));
    expect_rounded(layer_norm(x, {33}, Tensor(), Tensor()),
                   layer_norm(wide, {33}, Tensor(), Tensor()));
    expect_rounded(norm(x, 2.0, 1), norm(wide, 2.0, 1));
    expect_rounded(matmul(x, transpose(x, 0, 1)), matmul(wide, transpose(wide, 0, 1)));
    const Tensor classes = zeros({64}, test_device(), DType::kI64);
    expect_rounded(cross_entropy(x, classes), cross_entropy(wide, classes));
  }
}

TEST(dtypes, draws_of_f64_have_53_bits_and_halves_are_rounded_draws_of_f32) {
  const auto drawn = [](DType dtype) {
    manual_seed(5);
    return uniform({1000}, test_device(), 0.0, 1.0, dtype);
  };
  const std::vector<double> wide = drawn(DType::kF64).to_vector<double>();
  int beyond_f32 = 0;
  for (const double u : wide) {
    EXPECT_TRUE(u >= 0.0 && u < 1.0);
    EXPECT_EQ(std::ldexp(u, 53), std::floor(std::ldexp(u, 53)));
    beyond_f32 += static_cast<double>(static_cast<float>(u)) != u;
  }
  EXPECT_GT(beyond_f32, 900);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    EXPECT_EQ(drawn(dtype).to_vector<float>(), drawn(DType::kF32).astype(dtype).to_vector<float>());
  }
}

/// Least squares: y = 3 x, by every optimizer, in every float.
TEST(dtypes, optimizers_train_parameters_of_every_float) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const bool adam : {false, true}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + (adam ? " AdamW" : " SGD"));
      nn::Parameter w({1}, [&](const Device& device) { return ones({1}, device, dtype); });
      w.to(tracked_device());
      const Tensor x =
          from_data(std::vector<float>{0.5F, 1.0F, -1.5F}, {3}, test_device()).astype(dtype);
      std::unique_ptr<optim::Optimizer> optimizer;
      if (adam) {
        optimizer = std::make_unique<optim::AdamW>(
            std::vector{w}, optim::AdamWOptions{.learning_rate = 0.125, .weight_decay = 0.0});
      } else {
        optimizer = std::make_unique<optim::SGD>(
            std::vector{w}, optim::SgdOptions{.learning_rate = 0.25, .momentum = 0.5});
      }
      for (int step = 0; step < 120; ++step) {
        const Tensor error = x * w.tensor() - x * 3.0;
        mean(square(error)).backward();
        optimizer->step();
        optimizer->zero_grad();
      }
      EXPECT_EQ(w.tensor().dtype(), dtype);
      EXPECT_NEAR(w.tensor().item<float>(), 3.0F, is_half(dtype) ? 0.1F : 0.02F);
    }
  }
}

}  // namespace
}  // namespace remora
