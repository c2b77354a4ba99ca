// The conversions of f16 and bf16, every value of them, against the formats' definition in f64
// arithmetic (tests/reference/array.cpp).
#include "dispatch/float16.h"

#include <bit>
#include <cmath>

#include "gtest/gtest.h"
#include "tests/reference/array.h"
#include "tests/support/generators.h"

namespace remora {
namespace {

struct Half {
  DType dtype;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  uint16_t (*narrow_f64)(double);
};
constexpr Half kHalves[] = {{DType::kF16, f16_to_f32, f32_to_f16, f64_to_f16},
                            {DType::kBF16, bf16_to_f32, f32_to_bf16, f64_to_bf16}};

double expected_value(DType dtype, uint16_t bits) {
  const Spec spec{dtype, {}};
  const auto bytes = std::as_bytes(std::span(&bits, 1));
  return reference::from_host(dispatch::HostData::copy_of(spec, bytes)).reals[0];
}

TEST(Float16, every_value_widens_exactly_and_comes_back) {
  for (const Half& half : kHalves) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto held = static_cast<uint16_t>(bits);
      const double expected = expected_value(half.dtype, held);
      const float widened = half.widen(held);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(widened)) << dtype_name(half.dtype) << " " << bits;
        ASSERT_TRUE(std::isnan(half.widen(half.narrow(widened)))) << bits;
        continue;
      }
      ASSERT_EQ(static_cast<double>(widened), expected) << dtype_name(half.dtype) << " " << bits;
      ASSERT_EQ(half.narrow(widened), held);
      ASSERT_EQ(half.narrow_f64(expected), held);
    }
  }
}

/// Both sides of the middle between neighbours, the middle itself, and all that lies beyond the
/// largest.
TEST(Float16, numbers_round_to_the_nearest_and_ties_to_even) {
  for (const Half& half : kHalves) {
    for (uint16_t bits = 0; std::isfinite(half.widen(bits)); ++bits) {
      const double low = static_cast<double>(half.widen(bits));
      const auto next = static_cast<uint16_t>(bits + 1);
      const double high = std::isfinite(half.widen(next))
                              ? static_cast<double>(half.widen(next))
                              : low + reference::ulp_of(half.dtype, low);
      const double middle = (low + high) / 2;
      const uint16_t even = bits % 2 == 0 ? bits : next;
      ASSERT_EQ(half.narrow(static_cast<float>(middle)), even) << middle;
      ASSERT_EQ(half.narrow_f64(middle), even) << middle;
      // Closer to the middle than an f32 can say: rounding twice would take it for a tie.
      ASSERT_EQ(half.narrow_f64(std::nextafter(middle, low)), bits) << middle;
      ASSERT_EQ(half.narrow_f64(std::nextafter(middle, INFINITY)), next) << middle;
      ASSERT_EQ(half.narrow_f64(-middle), even | 0x8000) << middle;
    }
    for (const double large : {1e39, 1e300, HUGE_VAL}) {
      EXPECT_EQ(half.widen(half.narrow_f64(large)), INFINITY);
      EXPECT_EQ(half.widen(half.narrow_f64(-large)), -INFINITY);
    }
    EXPECT_EQ(half.narrow_f64(1e-300), 0);
    EXPECT_EQ(half.narrow_f64(-1e-300), 0x8000);
  }
}

TEST(Float16, random_numbers_round_as_the_definition_says) {
  test::Random random(17);
  for (const Half& half : kHalves) {
    for (int i = 0; i < 200'000; ++i) {
      const double value =
          std::ldexp(random.between(-2.0, 2.0), static_cast<int>(random.below(60)) - 40);
      const double expected = reference::round_to(half.dtype, value);
      ASSERT_EQ(static_cast<double>(half.widen(half.narrow_f64(value))), expected) << value;
      const auto single = static_cast<float>(value);
      ASSERT_EQ(static_cast<double>(half.widen(half.narrow(single))),
                reference::round_to(half.dtype, static_cast<double>(single)))
          << single;
    }
  }
}

}  // namespace
}  // namespace remora
