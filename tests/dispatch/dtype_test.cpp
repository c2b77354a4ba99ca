#include "dispatch/dtype.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace remora {
namespace {

constexpr DType kAllDTypes[] = {
#define DTYPE(number, enumerator, ...) DType::enumerator,
#include "dispatch/dtypes.def"
#undef DTYPE
};

TEST(DType, names_and_wire_numbers_round_trip) {
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    EXPECT_TRUE(is_known_dtype(static_cast<uint8_t>(dtype)));
  }
  EXPECT_EQ(dtype_from_name("f33"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_FALSE(is_known_dtype(0));
  EXPECT_FALSE(is_known_dtype(200));
}

TEST(DType, promotion_is_symmetric_and_keeps_what_is_equal) {
  for (const DType a : kAllDTypes) {
    EXPECT_EQ(promote(a, a), a);
    EXPECT_EQ(promote(a, DType::kBool), a) << "bool is below everything";
    for (const DType b : kAllDTypes) {
      EXPECT_EQ(promote(a, b), promote(b, a)) << dtype_name(a) << " with " << dtype_name(b);
    }
  }
}

TEST(DType, promotion_follows_the_categories) {
  EXPECT_EQ(promote(DType::kI64, DType::kF16), DType::kF16);
  EXPECT_EQ(promote(DType::kI8, DType::kI32), DType::kI32);
  EXPECT_EQ(promote(DType::kF32, DType::kF64), DType::kF64);
  EXPECT_EQ(promote(DType::kF16, DType::kBF16), DType::kF32);
  EXPECT_EQ(promote(DType::kU8, DType::kI8), DType::kI16);
  EXPECT_EQ(promote(DType::kU32, DType::kI32), DType::kI64);
  EXPECT_EQ(promote(DType::kU64, DType::kF32), DType::kF32);
  EXPECT_EQ(promote(DType::kU64, DType::kI64), std::nullopt);
}

}  // namespace
}  // namespace remora
