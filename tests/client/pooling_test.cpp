#include <numeric>

#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.0F);
  return floats(values, shape);
}

TEST(pooling, three_dimensions_of_depth_one_equal_two) {
  const Tensor x = counting({2, 3, 5, 7});
  Pool2dOptions flat;
  flat.stride = Extent2d(2, 3);
  flat.padding = 1;
  flat.ceil_mode = true;
  Pool3dOptions deep;
  deep.stride = Dims{1, 2, 3};
  deep.padding = Dims{0, 1, 1};
  deep.ceil_mode = true;
  const auto [values, indices] = max_pool2d_with_indices(x, Extent2d(2, 3), flat);
  const auto [deep_values, deep_indices] =
      max_pool3d_with_indices(unsqueeze(x, 2), Dims{1, 2, 3}, deep);
  expect_floats(squeeze(deep_values, 2), values.to_vector<float>(), values.shape());
  expect_integers(squeeze(deep_indices, 2), indices.to_vector<int64_t>(), indices.shape());

  AvgPool2dOptions flat_mean;
  flat_mean.padding = 1;
  flat_mean.count_include_pad = false;
  AvgPool3dOptions deep_mean;
  deep_mean.padding = Dims{0, 1, 1};
  deep_mean.count_include_pad = false;
  const Tensor mean = avg_pool2d(x, 3, flat_mean);
  expect_near(avg_pool3d(unsqueeze(x, 2), Dims{1, 3, 3}, deep_mean), mean.to_vector<float>(),
              1e-6F);
}

TEST(pooling, windows_that_cannot_be_are_refused) {
  const Tensor x = counting({1, 2, 2, 2});
  Pool3dOptions wide;
  wide.padding = Dims{2};
  expect_error(kInvalid, "half the kernel", [&] { max_pool3d(x, Dims{2}, wide); });
  expect_error(kInvalid, "does not fit", [&] { max_pool3d(x, Dims{3}); });
  expect_error(kInvalid, "one number or three", [&] { max_pool3d(x, Dims{1, 2}); });
  expect_error(kInvalid, "max_pool3d", [&] { max_pool3d(x, Dims{0}); });
  expect_error(kInvalid, "max_pool3d", [&] { max_pool3d(x, Dims{INT64_MAX}); });
  expect_error(kInvalid, "max_pool3d", [] { max_pool3d(counting({1, 2}), Dims{1}); });
  AvgPool3dOptions by_zero;
  by_zero.divisor = 0;
  expect_error(kInvalid, "divisor", [&] { avg_pool3d(x, Dims{1}, by_zero); });
}

TEST(pooling, adaptive_windows_cover_everything_and_may_overlap) {
  const Tensor x = floats({1, 2, 3, 4, 5}, {1, 5});
  expect_near(adaptive_avg_pool1d(x, {2}), {2, 4}, 1e-6F);
  expect_near(adaptive_avg_pool1d(x, {std::nullopt}), {1, 2, 3, 4, 5}, 1e-6F);
  const auto [values, indices] = adaptive_max_pool1d(floats({3, 3, 1, 2, 2}, {1, 5}), {2});
  expect_floats(values, {3, 2}, {1, 2});
  expect_integers(indices, {0, 3}, {1, 2});
  expect_error(kInvalid, "above 0", [&] { adaptive_avg_pool1d(x, {0}); });
  expect_error(kInvalid, "adaptive_avg_pool2d", [&] { adaptive_avg_pool2d(x, {1}); });
}

TEST(pooling, unpooling_inverts_and_gives_each_of_equals_the_whole_gradient) {
  const Tensor x = leaf({5, 5, 7}, {1, 1, 3});
  const Tensor index = integers({1, 1, 3}, {1, 1, 3});
  const Tensor placed = max_unpool(x, index, {1, 1, 4});
  expect_floats(placed, {0, 5, 0, 7}, {1, 1, 4});
  sum(placed * floats({1, 2, 3, 4}, {1, 1, 4})).backward();
  expect_floats(*x.grad(), {2, 2, 4}, {1, 1, 3});
  expect_error(kInvalid, "max_unpool", [&] { max_unpool(x, index, {1, 2, 4}); });
}

TEST(pooling, unpooling_takes_its_size_from_the_windows) {
  const Tensor x = uniform({2, 3, 7, 6}, test_device());
  const Pool2dOptions windows{.stride = Extent2d(2, 3), .padding = {1, 0}};
  const auto [values, index] = max_pool2d_with_indices(x, {3, 2}, windows);
  const MaxUnpoolOptions options{.stride = Dims{2, 3}, .padding = {1, 0}, .size = Dims{7, 6}};
  const Tensor back = max_unpool2d(values, index, {3, 2}, options);
  EXPECT_EQ(max_pool2d(back, {3, 2}, windows).to_vector<float>(), values.to_vector<float>());
  EXPECT_EQ(max_unpool2d(values[0], index[0], {3, 2}, options).to_vector<float>(),
            back[0].to_vector<float>());
  MaxUnpoolOptions whole = options;
  whole.size = Dims{2, 3, 7, 6};
  EXPECT_EQ(max_unpool2d(values, index, {3, 2}, whole).shape(), x.shape());
  whole.size = Dims{9, 6};
  EXPECT_EQ(values.size(2), 4);
  expect_error(kInvalid, "max_unpool2d: axis 0 of the size is 9; it must lie between 5 and 9", [&] {
    max_unpool2d(values, index, {3, 2}, whole);
  });
  whole.size = Dims{7};
  expect_error(kInvalid, "max_unpool2d: a size of 1 axes", [&] {
    max_unpool2d(values, index, {3, 2}, whole);
  });
  expect_error(kInvalid, "the kernel takes one number or 2", [&] {
    max_unpool2d(values, index, {3, 2, 1});
  });
  expect_error(kInvalid, "the stride is 0",
               [&] { max_unpool2d(values, index, {3}, {.stride = Dims{0}}); });
  expect_floats(max_unpool1d(floats({5, 7}, {1, 2}), integers({1, 2}, {1, 2}), {2}), {0, 5, 7, 0},
                {1, 4});
  EXPECT_EQ(
      max_unpool3d(zeros({1, 1, 2, 1, 1}, test_device()), integers({0, 1}, {1, 1, 2, 1, 1}), {2})
          .shape(),
      (Shape{1, 1, 4, 2, 2}));
}

TEST(resampling, lanczos3_weighs_the_six_nearest_that_exist) {
  InterpolateOptions options;
  options.mode = Interpolation::kLanczos3;
  options.size = Dims{7};
  const Tensor x = floats({1, 5, -2, 3}, {1, 1, 4});
  expect_near(interpolate(x, options),
              {0.3005538F, 2.783364F, 5.084981F, 1.357143F, -2.008328F, 0.9352003F, 3.814125F},
              1e-6F);
  options.align_corners = true;
  expect_near(interpolate(x, options), {1, 3.611247F, 5, 1.357143F, -2, -0.0391198F, 3}, 1e-6F);
  options.align_corners = false;
  options.size = Dims{3};
  expect_near(interpolate(floats({1, 5, -2, 3, 0, 7, 2}, {1, 1, 7}), options),
              {4.475724F, 3, 6.064235F}, 1e-6F);
  options.size = Dims{2, 4};
  expect_near(
      interpolate(floats({1, 5, -2, 0, 3, 4, 2, -1, 6}, {1, 1, 3, 3}), options),
      {0.2603757F, 3.962604F, 3.017994F, -1.525424F, 1.849852F, -0.465205F, 1.994243F, 6.49948F},
      1e-6F);
  const Tensor flat = full({1, 1, 3, 4}, 2.0, test_device());
  expect_near(interpolate(flat, options), std::vector<float>(8, 2.0F), 1e-6F);
}

TEST(resampling, nearest_repeats_and_linear_meets_the_corners) {
  const Tensor x = floats({0, 10}, {1, 1, 2});
  InterpolateOptions options;
  options.size = Dims{4};
  expect_floats(interpolate(x, options), {0, 0, 10, 10}, {1, 1, 4});
  options.mode = Interpolation::kLinear;
  expect_near(interpolate(x, options), {0, 2.5, 7.5, 10}, 1e-6F);
  options.align_corners = true;
  options.size = Dims{3};
  expect_near(interpolate(x, options), {0, 5, 10}, 1e-6F);
}

TEST(resampling, a_cubic_through_equal_values_is_flat) {
  InterpolateOptions options;
  options.mode = Interpolation::kCubic;
  options.size = Dims{7, 5};
  const Tensor flat = full({1, 1, 3, 4}, 2.0, test_device());
  expect_near(interpolate(flat, options), std::vector<float>(35, 2.0F), 1e-6F);
}

TEST(resampling, sizes_that_cannot_be_are_refused) {
  const Tensor x = floats({0, 10}, {1, 1, 2});
  InterpolateOptions options;
  expect_error(kInvalid, "either a size or a scale", [&] { interpolate(x, options); });
  options.scale = {0.1};
  expect_error(kInvalid, "no valid size", [&] { interpolate(x, options); });
  options.scale = {1e300};
  expect_error(kInvalid, "no valid size", [&] { interpolate(x, options); });
  options.scale = {std::nan("")};
  expect_error(kInvalid, "no valid size", [&] { interpolate(x, options); });
  options.scale = {2.0, 2.0};
  expect_error(kInvalid, "one size or scale", [&] { interpolate(x, options); });
}

}  // namespace
}  // namespace remora
