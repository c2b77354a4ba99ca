#include "dispatch/philox.h"

#include <cmath>

#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

using dispatch::PhiloxBlock;
using dispatch::RandomAttrs;

// Known answers of philox4x32-10 from Random123's kat_vectors.
TEST(Random, PhiloxGivesTheKnownAnswers) {
  EXPECT_EQ(dispatch::philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(dispatch::philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(dispatch::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                 {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, UniformIsTheTopBitsOfTheLane) {
  CpuDevice device;
  const uint64_t seed = 0x123456789abcdef0;
  const uint64_t offset = 0xfffffffffffffffe;  // wraps into the high word and over
  const auto draws = device.read<float>(
      device.run(OpCode::uniform, {}, RandomAttrs{DType::kF32, {11}, seed, offset})[0]);
  for (size_t i = 0; i < draws.size(); ++i) {
    const uint32_t bits = dispatch::philox_block(seed, offset + i / 4)[i % 4];
    EXPECT_EQ(draws[i], static_cast<float>(bits >> 8) * 0x1p-24f) << i;
  }
}

TEST(Random, ALongDrawContinuesAShortOne) {
  CpuDevice device;
  const auto whole = device.read<float>(
      device.run(OpCode::normal, {}, RandomAttrs{DType::kF32, {100'000}, 7, 5})[0]);
  const auto tail = device.read<float>(
      device.run(OpCode::normal, {}, RandomAttrs{DType::kF32, {10}, 7, 5 + 90'000 / 4})[0]);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 90'000));
}

TEST(Random, NormalIsBoxMullerOfNeighbouringLanes) {
  CpuDevice device;
  const auto draws =
      device.read<float>(device.run(OpCode::normal, {}, RandomAttrs{DType::kF32, {1000}, 3, 9})[0]);
  for (size_t i = 0; i < draws.size(); i += 2) {
    const PhiloxBlock block = dispatch::philox_block(3, 9 + i / 4);
    const double u = (block[i % 4] >> 8) * 0x1p-24;
    const double angle = 2 * M_PI * ((block[i % 4 + 1] >> 8) * 0x1p-24);
    const double radius = std::sqrt(-2 * std::log1p(-u));
    EXPECT_NEAR(draws[i], radius * std::cos(angle), 4e-6);
    EXPECT_NEAR(draws[i + 1], radius * std::sin(angle), 4e-6);
  }
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  CpuDevice device;
  const auto draws = device.read<float>(device.random({400'000}, 11));
  double sum = 0, squares = 0;
  for (const float x : draws) {
    sum += x;
    squares += double{x} * x;
  }
  EXPECT_NEAR(sum / 400'000, 0, 0.01);
  EXPECT_NEAR(squares / 400'000, 1, 0.01);
}

}  // namespace
}  // namespace remora::cpu
