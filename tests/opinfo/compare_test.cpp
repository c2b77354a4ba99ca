#include "tests/opinfo/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace remora::opinfo {
namespace {

using dispatch::HostData;

template <typename T>
HostData host(const std::vector<T>& values) {
  const Spec spec{DTypeOf<T>::kValue, Shape{static_cast<int64_t>(values.size())}};
  return HostData::copy_of(spec, std::as_bytes(std::span<const T>(values)));
}

bool equal_enough(float actual, float expected) {
  return compare(host<float>({actual}), host<float>({expected}), answer_tolerance(DType::kF32))
      .empty();
}

TEST(Compare, FloatsMayDifferByTheTolerance) {
  EXPECT_TRUE(equal_enough(1.0F, 1.0001F));
  EXPECT_FALSE(equal_enough(1.0F, 1.0002F));
  EXPECT_TRUE(equal_enough(0.0F, 0.9e-5F));
  EXPECT_FALSE(equal_enough(0.0F, 1.1e-5F));
}

TEST(Compare, NaNEqualsNaNAloneAndInfinityOnlyItself) {
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(equal_enough(nan, nan));
  EXPECT_FALSE(equal_enough(nan, 1.0F));
  EXPECT_FALSE(equal_enough(1.0F, nan));
  EXPECT_TRUE(equal_enough(inf, inf));
  EXPECT_FALSE(equal_enough(-inf, inf));
  EXPECT_FALSE(equal_enough(3e38F, inf));
}

TEST(Compare, IntegersAreExact) {
  const Tolerance any = answer_tolerance(DType::kI64);
  EXPECT_EQ(compare(host<int64_t>({1 << 30}), host<int64_t>({1 << 30}), any), "");
  EXPECT_NE(compare(host<int64_t>({(1 << 30) + 1}), host<int64_t>({1 << 30}), any), "");
}

TEST(Compare, DtypeAndShapeCount) {
  const Tolerance any = answer_tolerance(DType::kF32);
  EXPECT_NE(compare(host<float>({1, 2}), host<float>({1}), any), "");
  EXPECT_NE(compare(host<double>({1}), host<float>({1}), any), "");
}

TEST(Compare, HalvesAreReadAsWhatTheyMean) {
  const auto half = [](DType dtype, uint16_t bits) {
    return HostData::copy_of({dtype, Shape{1}}, std::as_bytes(std::span<const uint16_t>(&bits, 1)));
  };
  const Tolerance exact{0.0, 1e-9};
  EXPECT_EQ(compare(half(DType::kF16, 0x3c00), half(DType::kF16, 0x3c00), exact), "");
  EXPECT_NE(compare(half(DType::kF16, 0x3c00), half(DType::kF16, 0x3c01), exact), "");
  EXPECT_EQ(compare(half(DType::kF16, 0x7e00), half(DType::kF16, 0xfe01), exact), "");  // NaN
  EXPECT_NE(compare(half(DType::kF16, 0x7c00), half(DType::kF16, 0xfc00), exact),
            "");  // infinities
  EXPECT_EQ(compare(half(DType::kBF16, 0x3f80), half(DType::kBF16, 0x3f80), exact), "");
  EXPECT_NE(compare(half(DType::kBF16, 0x3f80), half(DType::kBF16, 0xbf80), exact), "");
}

}  // namespace
}  // namespace remora::opinfo
