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

}  // namespace
}  // namespace remora
