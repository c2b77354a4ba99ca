// Convolutions in three dimensions, sampling at points, bags of table rows.
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

/// conv3d from its definition.
std::vector<float> naive_conv3d(const std::vector<float>& x, const std::vector<float>& w,
                                int64_t depth, int64_t taps, int64_t stride, int64_t padding) {
  const int64_t side = 3;  // a 3 x 3 plane under a 2 x 2 kernel
  std::vector<float> result;
  for (int64_t z = 0; z * stride + taps <= depth + 2 * padding; ++z) {
    for (int64_t y = 0; y < 2; ++y) {
      for (int64_t column = 0; column < 2; ++column) {
        float sum = 0;
        for (int64_t k = 0; k < taps * 4; ++k) {
          const int64_t at = z * stride - padding + k / 4;
          if (at < 0 || at >= depth) continue;
          const int64_t from = (at * side + y + k / 2 % 2) * side + column + k % 2;
          sum += x[static_cast<size_t>(from)] * w[static_cast<size_t>(k)];
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

TEST(grid, conv3d_follows_its_definition) {
  std::vector<float> x(36), w(12);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  const Tensor input = floats(x, {1, 1, 4, 3, 3});
  const Tensor weight = floats(w, {1, 1, 3, 2, 2});
  for (const int64_t stride : {1, 2}) {
    for (const int64_t padding : {0, 1}) {
      const Tensor result =
          conv3d(input, weight, Tensor(), {.stride = {stride, 1, 1}, .padding = {padding, 0, 0}});
      EXPECT_EQ(result.to_vector<float>(), naive_conv3d(x, w, 4, 3, stride, padding))
          << "stride " << stride << ", padding " << padding;
    }
  }
  expect_error(kInvalid, "conv3d", [&] { conv3d(input, floats(w, {1, 1, 12, 1, 1})); });
}

TEST(grid, conv_transpose3d_is_the_adjoint_of_conv3d) {
  const Tensor x = uniform({2, 2, 5, 4, 4}, test_device());
  const Tensor weight = uniform({4, 1, 3, 2, 3}, test_device());
  const Conv3dOptions options{{2, 1, 2}, {1, 0, 1}, {1, 2, 1}, 2};
  const Tensor y = conv3d(x, weight, Tensor(), options);
  const Tensor g = uniform(y.shape(), test_device());
  const Tensor back = conv_transpose3d(g, weight, Tensor(),
                                       {.stride = options.stride,
                                        .padding = options.padding,
                                        .output_padding = {0, 0, 1},
                                        .groups = 2,
                                        .dilation = options.dilation});
  ASSERT_EQ(back.shape().str(), x.shape().str());
  EXPECT_NEAR(sum(y * g).item<float>(), sum(x * back).item<float>(), 1e-3F);
}

TEST(grid, grid_sample_at_element_centres_is_the_element) {
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {1, 1, 2, 3});
  const Tensor corners = floats({-1, -1, 1, 1, 0, -1, 0, 0}, {1, 1, 4, 2});
  expect_floats(grid_sample(x, corners, "bilinear", "zeros", true), {1, 6, 2, 3.5}, {1, 1, 1, 4});
  expect_floats(grid_sample(x, corners, "nearest", "zeros", true), {1, 6, 2, 2}, {1, 1, 1, 4});
  const Tensor beyond = floats({-3, -1, 3, 1}, {1, 1, 2, 2});
  expect_floats(grid_sample(x, beyond, "bilinear", "zeros", true), {0, 0}, {1, 1, 1, 2});
  expect_floats(grid_sample(x, beyond, "bilinear", "border", true), {1, 6}, {1, 1, 1, 2});
  expect_floats(grid_sample(x, beyond, "bilinear", "reflection", true), {3, 4}, {1, 1, 1, 2});
  expect_error(kInvalid, "mode", [&] { grid_sample(x, corners, "cubic"); });
}

TEST(grid, embedding_bag_reduces_rows_by_bag) {
  const Tensor table = floats({1, 10, 2, 20, 4, 40}, {3, 2});
  const Tensor index = integers({0, 2, 1, 2}, {4});
  const Tensor offsets = integers({0, 1, 1}, {3});
  expect_floats(embedding_bag(table, index, offsets, "sum"), {1, 10, 0, 0, 10, 100}, {3, 2});
  expect_floats(embedding_bag(table, index, offsets, "max"), {1, 10, 0, 0, 4, 40}, {3, 2});
  expect_floats(embedding_bag(table, integers({0, 1, 2, 2}, {2, 2})), {1.5, 15, 4, 40}, {2, 2});
  expect_floats(embedding_bag(table, index, integers({0, 2, 4}, {3}), "sum", Tensor(), true),
                {5, 50, 6, 60}, {2, 2});
  expect_floats(embedding_bag(table, index, integers({0}, {1}), "mean", Tensor(), false, 2),
                {1.5, 15}, {1, 2});
  expect_error(kInvalid, "offsets", [&] { embedding_bag(table, index); });
}

/// Bilinear between the elements of a plane, zero outside.
double sample(const std::vector<float>& plane, int64_t height, int64_t width, double y, double x) {
  const double top = std::floor(y), left = std::floor(x);
  double sum = 0.0;
  for (int64_t corner = 0; corner < 4; ++corner) {
    const double row = top + static_cast<double>(corner / 2);
    const double column = left + static_cast<double>(corner % 2);
    if (row < 0 || row >= static_cast<double>(height)) continue;
    if (column < 0 || column >= static_cast<double>(width)) continue;
    const double weight = (1.0 - std::abs(y - row)) * (1.0 - std::abs(x - column));
    sum += weight * plane[static_cast<size_t>(row * static_cast<double>(width) + column)];
  }
  return sum;
}

TEST(grid, deform_conv2d_follows_its_definition) {
  manual_seed(8);
  constexpr int64_t kHeight = 5, kWidth = 6, kRows = 2, kColumns = 3, kTaps = 6;
  const DeformConv2dOptions options{.stride = {2, 1},
                                    .padding = {1, 0},
                                    .dilation = {1, 2},
                                    .mask = uniform({2, 2 * kTaps, 3, 2}, test_device())};
  const Tensor x = normal({2, 4, kHeight, kWidth}, test_device());
  const Tensor offset = normal({2, 2 * 2 * kTaps, 3, 2}, test_device());
  const Tensor weight = normal({6, 2, kRows, kColumns}, test_device());
  const Tensor bias = normal({6}, test_device());
  const Tensor result = deform_conv2d(x, offset, weight, bias, options);
  ASSERT_EQ(result.shape().str(), "[2, 6, 3, 2]");
  std::vector<float> expected;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t o = 0; o < 6; ++o) {
      const auto taps = weight[o].to_vector<float>();
      for (int64_t i = 0; i < 6; ++i) {
        double sum = bias[o].item<double>();
        for (int64_t c = 0; c < 2; ++c) {
          const int64_t channel = o / 3 * 2 + c;     // of two groups of the weight
          const int64_t part = channel / 2 * kTaps;  // of two groups of the offset
          const auto plane = x[n][channel].to_vector<float>();
          for (int64_t k = 0; k < kTaps; ++k) {
            const auto at = [&](const Tensor& t, int64_t row) {
              return t[n][row][i / 2][i % 2].item<double>();
            };
            const double y =
                static_cast<double>(i / 2 * 2 - 1 + k / kColumns) + at(offset, 2 * (part + k));
            const double column =
                static_cast<double>(i % 2 + k % kColumns * 2) + at(offset, 2 * (part + k) + 1);
            sum += sample(plane, kHeight, kWidth, y, column) * at(options.mask, part + k) *
                   taps[static_cast<size_t>(c * kTaps + k)];
          }
        }
        expected.push_back(static_cast<float>(sum));
      }
    }
  }
  expect_near(result, expected, 1e-5F);
}

TEST(grid, deform_conv2d_without_offsets_is_conv2d) {
  manual_seed(8);
  const Tensor x = normal({1, 2, 5, 5}, test_device());
  const Tensor weight = normal({3, 2, 3, 3}, test_device());
  const Tensor offset = zeros({1, 18, 5, 5}, test_device());
  const Tensor plain = conv2d(x, weight, Tensor(), {.padding = 1});
  expect_near(deform_conv2d(x, offset, weight, Tensor(), {.padding = 1}), plain.to_vector<float>(),
              1e-5F);
  const Tensor half = deform_conv2d(x.astype(DType::kF16), offset.astype(DType::kF16),
                                    weight.astype(DType::kF16), Tensor(), {.padding = 1});
  EXPECT_EQ(half.dtype(), DType::kF16);
  // A point that is nowhere is outside.
  const Tensor nowhere = full({1, 18, 5, 5}, std::nan(""), test_device());
  expect_near(deform_conv2d(x, nowhere, weight, Tensor(), {.padding = 1}),
              std::vector<float>(75, 0.0F), 0);
}

TEST(grid, deform_conv2d_refuses_what_does_not_fit) {
  const Tensor x = zeros({1, 4, 5, 5}, test_device());
  const Tensor weight = zeros({2, 4, 3, 3}, test_device());
  const Tensor offset = zeros({1, 18, 3, 3}, test_device());
  expect_error(kInvalid,
               "deform_conv2d: the offset is [1, 17, 3, 3]; for 4 channels it must be "
               "[1, 2 G 9, 3, 3]",
               [&] { deform_conv2d(x, narrow(offset, 1, 0, 17), weight); });
  expect_error(kInvalid, "deform_conv2d: the mask is f32[1, 9, 3, 2]", [&] {
    deform_conv2d(x, offset, weight, Tensor(), {.mask = zeros({1, 9, 3, 2}, test_device())});
  });
  expect_error(kInvalid, "deform_conv2d: the bias is [3]",
               [&] { deform_conv2d(x, offset, weight, zeros({3}, test_device())); });
  expect_error(kInvalid, "deform_conv2d: a kernel of 3, stride 0",
               [&] { deform_conv2d(x, offset, weight, Tensor(), {.stride = 0}); });
  expect_error(kInvalid, "deform_conv2d: x f32[1, 4, 5, 5]",
               [&] { deform_conv2d(x, offset, narrow(weight, 1, 0, 3)); });
}

}  // namespace
}  // namespace remora
