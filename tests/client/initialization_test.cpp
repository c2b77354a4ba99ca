// First values: bounds, moments and orthogonality, against the formulas.
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

nn::Parameter blank(const Shape& shape) { return nn::constant_parameter(shape, 7.0); }

struct Moments {
  double mean = 0;
  double deviation = 0;
  double low = 0;
  double high = 0;
};

Moments moments(const nn::Parameter& parameter) {
  const std::vector<float> values = parameter.tensor().to_vector<float>();
  Moments found{0, 0, 1e30, -1e30};
  for (const float value : values) {
    found.mean += static_cast<double>(value) / static_cast<double>(values.size());
    found.low = std::min(found.low, static_cast<double>(value));
    found.high = std::max(found.high, static_cast<double>(value));
  }
  for (const float value : values) {
    const double distance = static_cast<double>(value) - found.mean;
    found.deviation += distance * distance / static_cast<double>(values.size());
  }
  found.deviation = std::sqrt(found.deviation);
  return found;
}

class Initialization : public testing::Test {
 protected:
  void SetUp() override { manual_seed(11); }
};

TEST_F(Initialization, uniform_recipes_fill_their_bounds) {
  const nn::Parameter xavier = blank({64, 32, 3, 3});
  nn::init::xavier_uniform(xavier, 2.0);
  const double bound = 2.0 * std::sqrt(6.0 / (32 * 9 + 64 * 9));
  EXPECT_NEAR(moments(xavier).high, bound, 0.01 * bound);
  EXPECT_NEAR(moments(xavier).low, -bound, 0.01 * bound);
  const nn::Parameter kaiming = blank({64, 32});
  nn::init::kaiming_uniform(
      kaiming, {.fan = nn::init::Fan::kOut, .nonlinearity = nn::init::Nonlinearity::kRelu});
  const double kaiming_bound = std::sqrt(2.0) * std::sqrt(3.0 / 64);
  EXPECT_NEAR(moments(kaiming).high, kaiming_bound, 0.01 * kaiming_bound);
}

TEST_F(Initialization, normal_recipes_have_their_deviation) {
  const nn::Parameter xavier = blank({100, 60});
  nn::init::xavier_normal(xavier);
  EXPECT_NEAR(moments(xavier).deviation, std::sqrt(2.0 / 160), 0.003);
  const nn::Parameter kaiming = blank({100, 60});
  nn::init::kaiming_normal(kaiming, {.slope = std::sqrt(5.0)});
  EXPECT_NEAR(moments(kaiming).deviation, std::sqrt(1.0 / 3.0 / 60), 0.003);
  const nn::Parameter plain = blank({6000});
  nn::init::normal(plain, 3.0, 0.5);
  EXPECT_NEAR(moments(plain).mean, 3.0, 0.03);
  EXPECT_NEAR(moments(plain).deviation, 0.5, 0.02);
}

TEST_F(Initialization, trunc_normal_is_the_normal_within_its_bounds) {
  const nn::Parameter cut = blank({20000});
  nn::init::trunc_normal(cut, 1.0, 2.0, -1.0, 2.0);
  const Moments found = moments(cut);
  EXPECT_GE(found.low, -1.0);
  EXPECT_LE(found.high, 2.0);
  // Of a standard normal between a = -1 and b = 0.5: mean (phi(a) - phi(b)) / Z.
  EXPECT_NEAR(found.mean, 1.0 + 2.0 * (0.24197 - 0.35207) / (0.69146 - 0.15866), 0.02);
  EXPECT_NEAR(found.deviation,
              2.0 * std::sqrt(1 + (-0.24197 - 0.17603) / 0.53281 -
                              std::pow(0.24197 - 0.35207, 2) / 0.28388),
              0.02);
  const nn::Parameter wide = blank({20000});
  nn::init::trunc_normal(wide, 0.0, 1.0, -6.0, 6.0);
  EXPECT_NEAR(moments(wide).deviation, 1.0, 0.02);
}

TEST_F(Initialization, orthogonal_rows_or_columns_are_orthogonal) {
  for (const Shape& shape : {Shape{40, 40}, Shape{12, 5, 3}, Shape{30, 4}}) {
    const nn::Parameter made = blank(shape);
    nn::init::orthogonal(made, 1.5);
    const int64_t rows = shape[0];
    const int64_t columns = shape.numel() / rows;
    const Tensor matrix = reshape(made.tensor().inner(), {rows, columns});
    const Tensor product =
        rows > columns ? matmul(transpose(matrix), matrix) : matmul(matrix, transpose(matrix));
    const Tensor error = product - eye(std::min(rows, columns), {}, test_device()) * 2.25;
    EXPECT_LT(amax(abs(error)).item<float>(), 2e-5F) << shape.str();
  }
}

TEST_F(Initialization, constants_and_the_identity) {
  const nn::Parameter made = blank({2, 3});
  nn::init::eye(made);
  expect_floats(made.tensor(), {1, 0, 0, 0, 1, 0}, {2, 3});
  nn::init::zeros(made);  // it has values by now, so they are replaced at once
  expect_floats(made.tensor(), {0, 0, 0, 0, 0, 0}, {2, 3});
  nn::init::ones(made);
  nn::init::constant(made, 2.5);
  expect_floats(made.tensor(), {2.5, 2.5, 2.5, 2.5, 2.5, 2.5}, {2, 3});
}

TEST_F(Initialization, a_recipe_given_late_keeps_the_leaf) {
  nn::Linear model(4, 4);
  model.to(tracked_device());
  const nn::Parameter weight = model.weight();
  nn::init::orthogonal(weight);
  EXPECT_TRUE(weight.tensor().is_leaf());
  sum(model(ones({1, 4}, test_device()))).backward();
  EXPECT_TRUE(weight.tensor().grad().has_value());
}

TEST_F(Initialization, the_same_seed_gives_the_same_bits) {
  std::vector<std::vector<float>> drawn;
  for (int i = 0; i < 2; ++i) {
    manual_seed(5);
    const nn::Parameter made = blank({6, 6});
    nn::init::orthogonal(made);
    const nn::Parameter cut = blank({9});
    nn::init::trunc_normal(cut);
    drawn.push_back(made.tensor().to_vector<float>());
    drawn.push_back(cut.tensor().to_vector<float>());
  }
  EXPECT_EQ(drawn[0], drawn[2]);
  EXPECT_EQ(drawn[1], drawn[3]);
}

TEST_F(Initialization, what_makes_no_sense_is_refused) {
  expect_error(kInvalid, "two axes or more", [] { nn::init::xavier_uniform(blank({3})); });
  expect_error(kInvalid, "the range [2, 1]",
               [] { nn::init::trunc_normal(blank({3}), 0, 1, 2, 1); });
  expect_error(kInvalid, "takes rank 2", [] { nn::init::eye(blank({3})); });
}

TEST_F(Initialization, layers_start_as_those_of_pytorch) {
  const auto bound_of = [](nn::Module&& module, const std::string& name) {
    module.to(test_device());
    for (const nn::NamedParameter& named : module.named_parameters()) {
      if (named.name == name) return moments(named.parameter);
    }
    return Moments{};
  };
  EXPECT_NEAR(bound_of(nn::Conv1d(16, 64, 5), "weight").high, 1.0 / std::sqrt(80), 1e-3);
  EXPECT_NEAR(bound_of(nn::ConvTranspose2d(16, 64, 3), "bias").high, 1.0 / std::sqrt(64 * 9), 2e-3);
  EXPECT_NEAR(bound_of(nn::Bilinear(16, 32, 9), "weight").high, 0.25, 1e-3);
  EXPECT_NEAR(bound_of(nn::Embedding(100, 50), "weight").deviation, 1.0, 0.05);
  EXPECT_NEAR(bound_of(nn::LSTM(8, 64), "weight_hh_l0").high, 0.125, 1e-3);
  EXPECT_NEAR(bound_of(nn::MultiheadAttention(32, 4), "in_proj_weight").high,
              std::sqrt(6.0 / (32 + 96)), 1e-3);
  EXPECT_EQ(bound_of(nn::MultiheadAttention(32, 4), "out_proj.bias").high, 0.0);
  EXPECT_EQ(bound_of(nn::LayerNorm({8}), "weight").low, 1.0);
  nn::Embedding padded(5, 3, -1);
  padded.to(test_device());
  expect_floats(padded(integers({4}, {1})), {0, 0, 0}, {1, 3});
}

}  // namespace
}  // namespace remora
