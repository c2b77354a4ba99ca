// Dropout of elements and of channels: what is dropped together, what is kept, what means stay.
#include <cmath>
#include <set>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

/// The values that occur in each channel of [N, C, ..].
std::vector<std::set<float>> values_by_channel(const Tensor& x) {
  const Tensor channels = flatten(flatten(x, 2), 0, 1);
  std::vector<std::set<float>> result;
  for (int64_t i = 0; i < channels.size(0); ++i) {
    const auto elements = channels[i].to_vector<float>();
    result.emplace_back(elements.begin(), elements.end());
  }
  return result;
}

/// Every channel of `dropped`, made of ones, holds one value of the two, and both occur.
void expect_whole_channels(const Tensor& dropped, float gone, float kept) {
  std::set<float> seen;
  for (const std::set<float>& values : values_by_channel(dropped)) {
    ASSERT_EQ(values.size(), 1U);
    EXPECT_TRUE(std::abs(*values.begin() - gone) < 1e-5F ||
                std::abs(*values.begin() - kept) < 1e-5F)
        << *values.begin();
    seen.insert(*values.begin());
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(dropout, channels_are_dropped_as_wholes) {
  manual_seed(3);
  expect_whole_channels(dropout1d(ones({8, 9, 4}, test_device()), 0.5), 0, 2);
  expect_whole_channels(unsqueeze(dropout1d(ones({40, 5}, test_device()), 0.5), 0), 0, 2);
  expect_whole_channels(dropout2d(ones({8, 9, 2, 3}, test_device()), 0.75), 0, 4);
  expect_whole_channels(dropout2d(ones({8, 9, 3}, test_device()), 0.75), 0, 4);
  expect_whole_channels(dropout3d(ones({8, 9, 2, 1, 3}, test_device()), 0.5), 0, 2);
  expect_whole_channels(unsqueeze(dropout3d(ones({40, 2, 1, 3}, test_device()), 0.5), 0), 0, 2);
}

TEST(dropout, alpha_dropout_keeps_mean_and_variance) {
  manual_seed(4);
  const Tensor x = normal({100000}, test_device());
  const auto [variance, center] = var_mean(alpha_dropout(x, 0.3, true));
  EXPECT_NEAR(center.item<double>(), 0.0, 0.02);
  EXPECT_NEAR(variance.item<double>(), 1.0, 0.03);
  // PyTorch's formula: a = ((1.7580993408473766^2 p + 1)(1 - p))^-1/2, b = 1.7580993408473766 a p.
  const double p = 0.25, saturation = 1.7580993408473766;
  const double a = 1.0 / std::sqrt((saturation * saturation * p + 1.0) * (1.0 - p));
  const auto gone = static_cast<float>(saturation * a * (p - 1.0));
  const auto kept = static_cast<float>(a + saturation * a * p);
  expect_whole_channels(feature_alpha_dropout(ones({8, 9, 2, 3}, test_device()), p, true), gone,
                        kept);
  std::set<float> values;
  for (const float value : alpha_dropout(ones({64}, test_device()), p, true).to_vector<float>()) {
    values.insert(value);
  }
  ASSERT_EQ(values.size(), 2U);
  EXPECT_NEAR(*values.begin(), gone, 1e-6F);
  EXPECT_NEAR(*values.rbegin(), kept, 1e-6F);
}

TEST(dropout, all_or_nothing_is_dropped_at_the_ends) {
  const Tensor x = floats({1, 2, 3, 4}, {1, 2, 2});
  for (const auto function :
       {dropout, dropout1d, dropout2d, alpha_dropout, feature_alpha_dropout}) {
    EXPECT_EQ(function(x, 0.0, true).to_vector<float>(), x.to_vector<float>());
    EXPECT_EQ(function(x, 0.5, false).to_vector<float>(), x.to_vector<float>());
    expect_floats(function(x, 1.0, true), {0, 0, 0, 0}, {1, 2, 2});
    expect_error(kInvalid, "p is 1.5", [&] { function(x, 1.5, true); });
  }
  expect_error(kInvalid, "dropout1d: takes [N, C, L] or [C, L]", [&] { dropout1d(x[0][0]); });
  expect_error(kInvalid, "feature_alpha_dropout: takes [N, C, ..]",
               [&] { feature_alpha_dropout(x[0][0], 0.5, true); });
  expect_error(kInvalid, "dropout2d", [&] { dropout2d(integers({1}, {1, 1, 1, 1})); });
}

TEST(dropout, gradients_reach_what_is_kept) {
  manual_seed(5);
  const Tensor x = leaf(std::vector<float>(24, 1.0F), {2, 6, 2});
  const Tensor result = dropout1d(x, 0.5);
  sum(result).backward();
  EXPECT_EQ(x.grad()->to_vector<float>(), result.to_vector<float>());
}

TEST(dropout, layers_heed_the_mode) {
  manual_seed(6);
  const Tensor x = ones({8, 9, 2, 3}, test_device());
  nn::Dropout2d channels(0.5);
  nn::FeatureAlphaDropout saturated(0.5);
  EXPECT_NE(channels(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_NE(saturated(x).to_vector<float>(), x.to_vector<float>());
  channels.eval();
  saturated.eval();
  EXPECT_EQ(channels(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(saturated(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_NE(nn::Dropout1d()(x[0]).to_vector<float>(), x[0].to_vector<float>());
  EXPECT_NE(nn::Dropout3d()(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_NE(nn::AlphaDropout()(x).to_vector<float>(), x.to_vector<float>());
  expect_error(kInvalid, "Dropout3d: p is -1", [] { nn::Dropout3d(-1.0); });
}

}  // namespace
}  // namespace remora
