// Tensors as values, reading them, making them, and functions whose answers are known by heart.
#include <algorithm>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(tensor, clone_invariance) {
  const Tensor x = floats({1, 2}, {2});
  Tensor y = x;
  y = y + 1;
  expect_floats(x, {1, 2}, {2});
  expect_floats(y, {2, 3}, {2});
}

TEST(tensor, literals_take_the_default_dtypes) {
  EXPECT_EQ(from_data({1, 2}, {2}, test_device()).dtype(), DType::kI64);
  EXPECT_EQ(from_data({1.0, 2.0}, {2}, test_device()).dtype(), DType::kF32);
  EXPECT_EQ(from_data({true}, {1}, test_device()).dtype(), DType::kBool);
  expect_error(kInvalid, "3 elements do not fill the shape [2]", [] {
    from_data({1, 2, 3}, {2}, test_device());
  });
}

TEST(tensor, reads_convert_single_elements_and_check_vectors) {
  const Tensor x = floats({2.75F}, {1});
  EXPECT_EQ(x.item<double>(), 2.75);
  EXPECT_EQ(x.item<int>(), 2);
  EXPECT_TRUE(booleans({true}, {}).item<bool>());
  expect_error(kInvalid, "to_vector: the elements are f32, not i64",
               [&] { x.to_vector<int64_t>(); });
  expect_error(kInvalid, "item needs exactly one", [] { floats({1, 2}, {2}).item<float>(); });
}

TEST(tensor, items_saturate_at_the_limits_of_the_type_asked_for) {
  const auto of = [](float value) { return floats({value}, {}); };
  EXPECT_TRUE(of(0.25F).item<bool>());
  EXPECT_TRUE(of(NAN).item<bool>());
  EXPECT_FALSE(of(-0.0F).item<bool>());
  EXPECT_TRUE(integers({256}, {}).item<bool>());
  EXPECT_EQ(of(NAN).item<int>(), 0);
  EXPECT_EQ(of(-2.75F).item<int8_t>(), -2);
  EXPECT_EQ(of(300).item<int8_t>(), 127);
  EXPECT_EQ(of(-INFINITY).item<int8_t>(), -128);
  EXPECT_EQ(of(-3).item<uint8_t>(), 0);
  EXPECT_EQ(of(1e10F).item<int32_t>(), INT32_MAX);
  EXPECT_EQ(of(1e19F).item<uint64_t>(), static_cast<uint64_t>(1e19F));
  EXPECT_EQ(of(1e30F).item<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(of(1e30F).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(integers({-1}, {}).item<uint64_t>(), 0U);
  EXPECT_EQ(integers({INT64_MIN}, {}).item<int32_t>(), INT32_MIN);
  EXPECT_EQ(integers({INT64_MAX}, {}).item<int16_t>(), INT16_MAX);
  EXPECT_EQ(integers({INT64_MAX}, {}).item<int64_t>(), INT64_MAX);
}

TEST(tensor, undefined_tensors_are_refused) {
  expect_error(absl::StatusCode::kFailedPrecondition, "never given a value", [] { Tensor() + 1; });
}

TEST(tensor, read_async_waits_only_when_asked) {
  const Tensor x = floats({1, 2}, {2});
  const ReadFuture future = sum(x * 3).read_async();
  const std::vector<ReadFuture> copies(2, future);
  EXPECT_EQ(future.item<float>(), 9.0F);
  EXPECT_TRUE(copies[1].ready());
  EXPECT_EQ(copies[1].item<float>(), 9.0F);
}

TEST(tensor, an_index_out_of_range_fails_its_dependents_alone) {
  const Tensor x = floats({1, 2, 3}, {3});
  const Tensor bad = gather(x, 0, integers({0, 3}, {2}));
  const Tensor good = gather(x, 0, integers({0, 2}, {2}));
  EXPECT_THROW((bad + 1).to_vector<float>(), Error);
  EXPECT_THROW(bad.read_async().get(), Error);
  expect_floats(good, {1, 3}, {2});
  expect_floats(x * 2, {2, 4, 6}, {3});
}

TEST(tensor, seed_reproduces) {
  const auto draw = [] {
    manual_seed(77);
    auto values = uniform({5}, test_device()).to_vector<float>();
    const auto more = normal({3}, test_device()).to_vector<float>();
    values.insert(values.end(), more.begin(), more.end());
    return values;
  };
  EXPECT_EQ(draw(), draw());
  for (const float value : uniform({100}, test_device(), -2.0, 3.0).to_vector<float>()) {
    EXPECT_GE(value, -2.0F);
    EXPECT_LT(value, 3.0F);
  }
  expect_error(absl::StatusCode::kInvalidArgument, "uniform: [1, 0) is no range",
               [] { uniform({2}, test_device(), 1.0, 0.0); });
  expect_error(absl::StatusCode::kInvalidArgument, "is no range",
               [] { uniform({2}, test_device(), -std::numeric_limits<double>::infinity(), 0.0); });
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  for (const int64_t value :
       randint(kLowest, kLowest + 5, {20}, test_device()).to_vector<int64_t>())
    EXPECT_LT(value, kLowest + 5);
  expect_error(absl::StatusCode::kInvalidArgument, "is longer than 16777216",
               [] { randint(kLowest, 0, {2}, test_device()); });
  for (const int64_t value : randint(-3, 4, {100}, test_device()).to_vector<int64_t>()) {
    EXPECT_GE(value, -3);
    EXPECT_LT(value, 4);
  }
}

TEST(tensor, draws_lie_where_the_dtype_can_hold_them) {
  const auto draw = [](double low, double high, DType dtype) {
    return uniform({64}, test_device(), low, high, dtype);
  };
  expect_error(absl::StatusCode::kInvalidArgument, "uniform: [0, 1e+06) is no range of f16",
               [&] { draw(0, 1e6, DType::kF16); });
  expect_error(absl::StatusCode::kInvalidArgument, "is no range of f16",
               [&] { draw(-6e4, 6e4, DType::kF16); });
  expect_error(absl::StatusCode::kInvalidArgument, "is no range of f32",
               [&] { draw(-3e38, 3e38, DType::kF32); });
  expect_error(absl::StatusCode::kInvalidArgument, "uniform", [&] { draw(0, 1, DType::kI64); });
  EXPECT_TRUE(all(isfinite(draw(0, 6.5e4, DType::kF16))).item<bool>());
  EXPECT_TRUE(all(isfinite(draw(-1e38, 1e38, DType::kF32))).item<bool>());
  expect_error(absl::StatusCode::kInvalidArgument, "normal: mean 100000",
               [] { normal({2}, test_device(), 1e5, 1.0, DType::kF16); });
}

TEST(tensor, weights_near_the_end_of_f64_can_be_drawn_by) {
  const Tensor weights = from_data(std::vector<double>{1e308, 0, 1e308, 1e308}, {4}, test_device());
  manual_seed(5);
  std::vector<int64_t> drawn = multinomial(weights, 3).to_vector<int64_t>();
  std::ranges::sort(drawn);
  EXPECT_EQ(drawn, (std::vector<int64_t>{0, 2, 3}));
  std::vector<int64_t> counts(4, 0);
  for (const int64_t i : multinomial(weights, 300, true).to_vector<int64_t>()) {
    ++counts[static_cast<size_t>(i)];
  }
  EXPECT_EQ(counts[1], 0);
  for (const size_t i : {0, 2, 3}) EXPECT_GT(counts[i], 60);
}

TEST(tensor, gradients_of_no_tensor_are_refused) {
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  expect_error(kFailed, "never given a value", [] { (void)Tensor().grad(); });
  expect_error(kFailed, "never given a value", [] { (void)Tensor().take_grad(); });
  expect_error(kFailed, "never given a value", [] { Tensor().set_grad(std::nullopt); });
}

TEST(creation, randperm_is_a_permutation_that_the_seed_decides) {
  const auto draw = [] {
    manual_seed(5);
    return randperm(50, test_device()).to_vector<int64_t>();
  };
  std::vector<int64_t> order = draw();
  EXPECT_EQ(order, draw());
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  expect_integers(randperm(0, test_device()), {}, {0});
  expect_error(kInvalid, "randperm", [] { randperm(-1, test_device()); });
}

TEST(creation, multinomial_draws_in_proportion_to_the_weights) {
  manual_seed(11);
  const Tensor weights = floats({1, 0, 3, 0}, {4});
  const std::vector<int64_t> many = multinomial(weights, 4000, true).to_vector<int64_t>();
  const auto count = [&](int64_t category) { return std::ranges::count(many, category); };
  EXPECT_EQ(count(1) + count(3), 0);
  EXPECT_NEAR(static_cast<double>(count(0)), 1000, 110);  // 4 standard deviations
  const Tensor rows = floats({1, 0, 2, 0, 0, 5, 0, 1}, {2, 4});
  for (int i = 0; i < 20; ++i) {
    std::vector<int64_t> drawn = multinomial(rows, 2).to_vector<int64_t>();
    std::sort(drawn.begin(), drawn.begin() + 2);
    std::sort(drawn.begin() + 2, drawn.end());
    EXPECT_EQ(drawn, (std::vector<int64_t>{0, 2, 1, 3}));
  }
  int64_t firsts = 0;
  for (int i = 0; i < 200; ++i) {
    firsts += multinomial(weights, 1).item<int64_t>() == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(firsts), 50, 25);
}

TEST(creation, multinomial_of_no_distribution_is_an_error_of_the_op) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& bad : {std::vector<float>{1, -1}, {0, 0}, {1, infinity}}) {
    for (const bool replacement : {false, true}) {
      expect_error(kInvalid, "out of range",
                   [&] { multinomial(floats(bad, {2}), 1, replacement).to_vector<int64_t>(); });
    }
  }
  expect_error(kInvalid, "out of range", [&] {
    multinomial(floats({1, 0}, {2}), 2).to_vector<int64_t>();
  });
  expect_error(kInvalid, "3 draws without replacement", [&] {
    multinomial(floats({1, 1}, {2}), 3);
  });
}

TEST(creation, known_answers) {
  const Device device = test_device();
  expect_integers(arange(0, 5, 2, device), {0, 2, 4}, {3});
  expect_integers(arange(3, 0, -1, device), {3, 2, 1}, {3});
  expect_floats(arange(0.0, 1.0, 0.25, device), {0, 0.25F, 0.5F, 0.75F}, {4});
  expect_floats(linspace(0, 1, 3, device), {0, 0.5F, 1}, {3});
  expect_integers(linspace(0, 10, 5, device, DType::kI64), {0, 2, 5, 7, 10}, {5});
  expect_integers(linspace(0.5, -2, 3, device, DType::kI64), {0, -1, -2}, {3});
  expect_integers(linspace(1, 1 + 0x1p40, 3, device, DType::kI64),
                  {1, 1 + (int64_t{1} << 39), 1 + (int64_t{1} << 40)}, {3});
  expect_floats(eye(2, 3, device), {1, 0, 0, 0, 1, 0}, {2, 3});
  expect_integers(one_hot(integers({1, 0}, {2}), 3), {0, 1, 0, 1, 0, 0}, {2, 3});
  expect_floats(tril(ones({2, 2}, device)), {1, 0, 1, 1}, {2, 2});
  expect_floats(triu(ones({2, 2}, device), 1), {0, 1, 0, 0}, {2, 2});
  expect_error(kInvalid, "leads away", [&] { arange(0, 5, -1, device); });
  expect_error(kInvalid, "the step is 0", [&] { arange(0, 5, 0, device); });
}

TEST(elementwise, known_answers) {
  expect_floats(round(floats({0.5F, 1.5F, -0.5F, 2.4F}, {4})), {0, 2, 0, 2}, {4});
  expect_booleans(signbit(round(floats({-0.4F, -0.5F, -0.0F, 0.4F}, {4}))),
                  {true, true, true, false}, {4});
  expect_booleans(signbit(sin(floats({-0.0F, 0}, {2}))), {true, false}, {2});
  expect_booleans(signbit(tanh(floats({-0.0F, 0}, {2}))), {true, false}, {2});
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Tensor zero = astype(floats({-0.0F, 0}, {2}), dtype);
    for (Tensor (*odd)(const Tensor&) : {&sin, &tan, &expm1, &log1p, &atan, &cbrt, &erf}) {
      expect_booleans(signbit(odd(zero)), {true, false}, {2});
    }
  }
  expect_floats(trunc(floats({1.7F, -1.7F}, {2})), {1, -1}, {2});
  expect_floats(ceil(floats({1.2F, -1.2F}, {2})), {2, -1}, {2});
  expect_floats(remainder(floats({5, -5}, {2}), 3), {2, 1}, {2});
  expect_floats(fmod(floats({5, -5}, {2}), 3), {2, -2}, {2});
  expect_floats(fmod(floats({1e10F, 5.5F, -1}, {3}), floats({3, -INFINITY, INFINITY}, {3})),
                {1, 5.5F, -1}, {3});
  expect_floats(remainder(floats({-1, 1}, {2}), floats({INFINITY, 0.1F}, {2})),
                {INFINITY, 0.09999998658895493F}, {2});
  expect_integers(fmod(integers({5, -5}, {2}), 3), {2, -2}, {2});
  expect_integers(remainder(integers({5, -5}, {2}), 3), {2, 1}, {2});
  expect_error(kInvalid, "fmod", [] { (void)fmod(integers({5}, {1}), 0).to_vector<int64_t>(); });
  expect_floats(maximum(floats({NAN, 1}, {2}), 0), {NAN, 1}, {2});
  expect_floats(fmax(floats({NAN, -1}, {2}), 0), {0, 0}, {2});
  expect_booleans(isfinite(floats({1, INFINITY, NAN}, {3})), {true, false, false}, {3});
  expect_booleans(isinf(floats({1, -INFINITY, NAN}, {3})), {false, true, false}, {3});
  expect_booleans(signbit(floats({-0.0F, 0, -1}, {3})), {true, false, true}, {3});
  expect_floats(nan_to_num(floats({NAN, 2}, {2}), 7.0), {7, 2}, {2});
  expect_near(asinh(floats({1e20F, -0.5F}, {2})), {46.745F, -0.48121F}, 1e-4F);
  expect_near(hypot(floats({3e30F}, {1}), 4e30), {5e30F}, 1e-6F);
  expect_floats(xlogy(floats({0, 2}, {2}), floats({0, 1}, {2})), {0, 0}, {2});
  EXPECT_TRUE(
      allclose(floats({1, NAN}, {2}), floats({1, NAN}, {2}), 1e-5, 1e-8, true).item<bool>());
}

TEST(reductions, known_answers) {
  const Tensor x = floats({1, 5, 3, 4, 2, 6}, {2, 3});
  expect_floats(sum(x, 0), {5, 7, 9}, {3});
  expect_floats(sum(x, {0, 1}, true), {21}, {1, 1});
  expect_floats(mean(x, -1), {3, 4}, {2});
  expect_near(var(x, 1), {4, 4}, 1e-6F);
  expect_floats(amin(x, 1), {1, 2}, {2});
  expect_integers(argmax(x, 1), {1, 2}, {2});
  expect_integers(argmin(x), {0}, {});
  expect_integers(argmin(floats({1, NAN, 0}, {3})), {1}, {});
  expect_integers(amin(integers({INT64_MIN, 5}, {2})), {INT64_MIN}, {});
  expect_floats(prod(x, 1), {15, 48}, {2});
  expect_floats(cumsum(x, 1), {1, 6, 9, 4, 6, 12}, {2, 3});
  expect_booleans(any(x > 4, 0), {false, true, true}, {3});
  expect_booleans(all(floats({}, {0})), {true}, {});
  expect_floats(logsumexp(floats({-INFINITY, -INFINITY}, {2})), {-INFINITY}, {});
  expect_near(logsumexp(floats({1000, 1000}, {2})), {1000.6931F}, 1e-6F);
  expect_error(kInvalid, "named twice", [&] { sum(x, {0, -2}); });
}

TEST(linalg, matmul_follows_numpy) {
  const Tensor a = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor v = floats({1, 0, -1}, {3});
  expect_floats(matmul(a, v), {-2, -2}, {2});
  expect_floats(matmul(v, transpose(a)), {-2, -2}, {2});
  expect_floats(matmul(v, v), {2}, {});
  EXPECT_EQ(matmul(zeros({5, 1, 2, 3}, test_device()), zeros({4, 3, 2}, test_device())).shape(),
            (Shape{5, 4, 2, 2}));
  EXPECT_EQ(matmul(zeros({0, 2, 3}, test_device()), zeros({3, 4}, test_device())).shape(),
            (Shape{0, 2, 4}));
  expect_integers(matmul(integers({1, 2}, {1, 2}), integers({3, 4}, {2, 1})), {11}, {1, 1});
  expect_error(kInvalid, "matmul: inner dimensions differ: [2, 3] x [2, 3]", [&] { matmul(a, a); });
  expect_error(kInvalid, "matmul: batch axes do not broadcast: [2, 2, 3] x [3, 3, 2]", [] {
    matmul(zeros({2, 2, 3}, test_device()), zeros({3, 3, 2}, test_device()));
  });
  expect_floats(kron(floats({1, 2}, {2}), floats({1, 10}, {2})), {1, 10, 2, 20}, {4});
  expect_floats(matrix_power(floats({1, 1, 0, 1}, {2, 2}), 5), {1, 5, 0, 1}, {2, 2});
}

TEST(loss, cross_entropy_weights_and_ignored_targets) {
  const Tensor logits = floats({0, 0, 0, 0, 0, 0}, {3, 2});
  const float log2 = std::log(2.0F);
  expect_near(cross_entropy(logits, integers({0, 1, 0}, {3})), {log2}, 1e-6F);
  const CrossEntropyOptions some = {.ignore_index = 1, .reduction = Reduction::kNone};
  expect_near(cross_entropy(logits, integers({0, 1, 0}, {3}), some), {log2, 0, log2}, 1e-6F);
  const CrossEntropyOptions weighted = {.weight = floats({1, 3}, {2}),
                                        .reduction = Reduction::kSum};
  expect_near(cross_entropy(logits, integers({0, 1, 0}, {3}), weighted), {5 * log2}, 1e-6F);
  expect_error(kInvalid, "needs a target of shape [3]", [&] {
    cross_entropy(logits, integers({0, 1}, {2}));
  });
}

}  // namespace
}  // namespace remora
