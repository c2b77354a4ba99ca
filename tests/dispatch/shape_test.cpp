#include "dispatch/shape.h"

#include "dispatch/limits.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

TEST(Shape, prints_and_counts) {
  EXPECT_EQ(Shape({2, 3}).str(), "[2, 3]");
  EXPECT_EQ(Shape().str(), "[]");
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(Shape({4, 0, 5}).numel(), 0);
  EXPECT_EQ((Spec{DType::kF32, {2, 3}}).str(), "f32[2, 3]");
  EXPECT_EQ((Spec{DType::kI64, {2, 3}}).byte_size(), 48);
}

TEST(Shape, limits_are_checked_before_anything_overflows) {
  EXPECT_TRUE(check_shape({0, 1, 2}).ok());
  EXPECT_TRUE(check_shape({dispatch::kMaxElements}).ok());
  EXPECT_FALSE(check_shape({dispatch::kMaxElements, 2}).ok());
  EXPECT_FALSE(check_shape({INT64_MAX, INT64_MAX, INT64_MAX}).ok());
  EXPECT_FALSE(check_shape({INT64_MAX, 0, INT64_MAX}).ok()) << "strides are products too";
  EXPECT_FALSE(check_shape({2, -1}).ok());
  EXPECT_FALSE(check_shape({-1, 0}).ok());
  Shape deep;
  deep.sizes().assign(static_cast<size_t>(dispatch::kMaxRank), 1);
  EXPECT_TRUE(check_shape(deep).ok());
  deep.sizes().push_back(1);
  EXPECT_TRUE(fails_with(check_shape(deep), absl::StatusCode::kInvalidArgument, {"17", "16"}));
}

TEST(Shape, broadcasting_is_numpys) {
  EXPECT_EQ(*broadcast_shapes({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(*broadcast_shapes({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(*broadcast_shapes({0, 1}, {1, 5}), (Shape{0, 5}));
  EXPECT_EQ(*broadcast_shapes({1}, {0}), (Shape{0}));
  EXPECT_TRUE(fails_with(broadcast_shapes({2, 3}, {2, 4}).status(),
                         absl::StatusCode::kInvalidArgument, {"[2, 3]", "[2, 4]"}));
  EXPECT_FALSE(broadcast_shapes({0}, {2}).ok());
}

TEST(Shape, contiguous_strides_are_row_major) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Dims{});
}

}  // namespace
}  // namespace remora::test
