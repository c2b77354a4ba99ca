#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/expr_prelude/cpu.h"
#include "kernels/expr_prelude/cpu_division.h"
#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Distance to the exact value in units of the last place of its f32 neighbour.
double ulp_error(float got, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (got == nearest || (std::isnan(got) && std::isnan(nearest))) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return INFINITY;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// The worst error over bit patterns spread over all floats of magnitude up to `limit`.
template <typename Function, typename Exact>
double worst_ulp(Function function, Exact exact, float limit) {
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 30'011) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isfinite(x) && std::fabs(x) > limit) continue;
    worst = std::max(worst, ulp_error(function(x), exact(static_cast<double>(x))));
  }
  return worst;
}

TEST(Prelude, TranscendentalsAreWithinTwoUlp) {
  const float all = std::numeric_limits<float>::max();
  EXPECT_LT(worst_ulp([](float x) { return r_exp(x); }, [](double x) { return std::exp(x); }, all),
            1.5);
  EXPECT_LT(worst_ulp([](float x) { return r_log(x); }, [](double x) { return std::log(x); }, all),
            1.5);
  EXPECT_LT(worst_ulp([](float x) { return r_sin(x); }, [](double x) { return std::sin(x); }, all),
            2);
  EXPECT_LT(worst_ulp([](float x) { return r_cos(x); }, [](double x) { return std::cos(x); }, all),
            2);
  EXPECT_LT(
      worst_ulp([](float x) { return r_tanh(x); }, [](double x) { return std::tanh(x); }, all), 2);
  EXPECT_LT(worst_ulp([](float x) { return r_erf(x); }, [](double x) { return std::erf(x); }, all),
            1);
}

TEST(Prelude, OddFunctionsKeepTheSignOfZero) {
  EXPECT_TRUE(std::signbit(r_sin(-0.0f)) && std::signbit(r_tanh(-0.0f)));
  EXPECT_FALSE(std::signbit(r_sin(0.0f)) || std::signbit(r_tanh(0.0f)));
}

TEST(Prelude, RemaindersAreExactForAnyQuotientAndAnInfiniteDivisor) {
  EXPECT_EQ(r_fmod(1e10f, 3.0f), 1.0f);
  EXPECT_EQ(r_fmod(5.5f, -INFINITY), 5.5f);
  EXPECT_EQ(r_fmod(-1.0f, INFINITY), -1.0f);
  EXPECT_TRUE(std::isnan(r_fmod(1.0f, 0.0f)) && std::isnan(r_fmod(INFINITY, 2.0f)));
  EXPECT_EQ(r_remainder(-1.0f, INFINITY), INFINITY);
  EXPECT_EQ(r_remainder(1e10f, -3.0f), -2.0f);
  EXPECT_EQ(r_remainder(1.0f, 0.1f), 0.09999998658895493f);
  EXPECT_TRUE(std::signbit(r_remainder(6.0f, -3.0f)));
  EXPECT_FALSE(std::signbit(r_remainder(-6.0f, 3.0f)));
  EXPECT_TRUE(std::isnan(r_remainder(1.0f, 0.0f)) && std::isnan(r_remainder(kNan, -1.0f)));
}

TEST(Prelude, IntegerPowerIsExactAndWraps) {
  const auto power = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(r_pow(Wrapping<int64_t>(x), Wrapping<int64_t>(y)));
  };
  EXPECT_EQ(power(3, 4), 81);
  EXPECT_EQ(power(-2, 63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(power(2, 64), 0);
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(power(5, -1), 0);
  EXPECT_EQ(power(-1, -3), -1);
}

TEST(Elementwise, VectorsAndTailsGiveTheSameBits) {
  CpuDevice device;
  const Buffer x = device.random({1027}, 2);
  for (const OpCode code :
       {OpCode::exp, OpCode::tanh, OpCode::sigmoid, OpCode::rsqrt, OpCode::log}) {
    const auto whole = device.read<float>(device.run(code, {x})[0]);
    for (int64_t i = 0; i < 1027; i += 97) {
      const Buffer one = device.run(OpCode::slice, {x}, dispatch::SliceAttrs{{i}, {1}, {1}})[0];
      const auto alone = device.read<float>(device.run(code, {one})[0]);
      EXPECT_EQ(std::bit_cast<uint32_t>(alone[0]),
                std::bit_cast<uint32_t>(whole[static_cast<size_t>(i)]));
    }
  }
}

TEST(Elementwise, OperandsBroadcast) {
  CpuDevice device;
  const Buffer column = device.upload<float>({3, 1}, {10, 20, 30});
  const Buffer row = device.upload<float>({2}, {1, 2});
  EXPECT_EQ(device.read<float>(device.run(OpCode::add, {column, row})[0]),
            (std::vector<float>{11, 12, 21, 22, 31, 32}));
  const Buffer scalar = device.upload<float>({}, {2});
  EXPECT_EQ(device.read<float>(device.run(OpCode::sub, {scalar, row})[0]),
            (std::vector<float>{1, 0}));
  const Buffer empty = device.upload<float>({0, 1}, {});
  EXPECT_EQ(device.run(OpCode::mul, {empty, row})[0].spec.shape, (Shape{0, 2}));
}

TEST(Elementwise, LargeStridedOperandsMatchTheirCopies) {
  CpuDevice device({.threads = 2, .memory_limit_bytes = int64_t{1} << 30});
  const Buffer x = device.random({300, 401}, 3);
  const Buffer y = device.random({401, 300}, 4);
  const Buffer view = device.run(OpCode::permute, {y}, dispatch::PermuteAttrs{{1, 0}})[0];
  const auto got = device.read<float>(device.run(OpCode::add, {x, view})[0]);
  const auto a = device.read<float>(x);
  const auto b = device.read<float>(y);
  for (size_t i = 0; i < 300; ++i) {
    for (size_t j = 0; j < 401; ++j) ASSERT_EQ(got[i * 401 + j], a[i * 401 + j] + b[j * 300 + i]);
  }
}

TEST(Elementwise, NanAndIntegersFollowTheCatalogue) {
  CpuDevice device;
  const Buffer x = device.upload<float>({4}, {kNan, 1, kNan, -2});
  const Buffer y = device.upload<float>({4}, {0, kNan, kNan, 3});
  const auto larger = device.read<float>(device.run(OpCode::maximum, {x, y})[0]);
  EXPECT_TRUE(std::isnan(larger[0]) && std::isnan(larger[1]) && std::isnan(larger[2]));
  EXPECT_EQ(larger[3], 3);
  EXPECT_TRUE(std::isnan(device.read<float>(device.run(OpCode::relu, {x})[0])[0]));
  const Buffer lowest = device.upload<int64_t>({1}, {std::numeric_limits<int64_t>::min()});
  EXPECT_EQ(device.read<int64_t>(device.run(OpCode::neg, {lowest})[0])[0],
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(device.read<int64_t>(device.run(OpCode::abs, {lowest})[0])[0],
            std::numeric_limits<int64_t>::min());
  const Buffer truths = device.upload_bools({2}, {0, 1});
  EXPECT_EQ(device.read<uint8_t>(device.run(OpCode::logical_not, {truths})[0]),
            (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(
      device.read<int64_t>(device.run(OpCode::where, {truths, device.upload<int64_t>({}, {5}),
                                                      device.upload<int64_t>({2}, {7, 8})})[0]),
      (std::vector<int64_t>{7, 5}));
}

TEST(Cast, FloatToIntegerTruncatesSaturatesAndNanIsZero) {
  CpuDevice device;
  const Buffer x = device.upload<float>({6}, {-1.9f, 1.9f, kNan, 1e30f, -INFINITY, 0.0f});
  EXPECT_EQ(
      device.read<int64_t>(device.run(OpCode::astype, {x}, dispatch::DTypeAttrs{DType::kI64})[0]),
      (std::vector<int64_t>{-1, 1, 0, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min(), 0}));
  EXPECT_EQ(
      device.read<uint8_t>(device.run(OpCode::astype, {x}, dispatch::DTypeAttrs{DType::kBool})[0]),
      (std::vector<uint8_t>{1, 1, 1, 1, 1, 0}));
}

TEST(Creation, FullAndArangeFollowTheirScalars) {
  CpuDevice device;
  EXPECT_EQ(device.read<float>(device.run(OpCode::full, {},
                                          dispatch::FullAttrs{DType::kF32, {2}, 16777217})[0])[0],
            16777216.0f);
  EXPECT_EQ(device.read<float>(device.run(OpCode::arange, {},
                                          dispatch::ArangeAttrs{DType::kF32, 3, 0.5, 0.25})[0]),
            (std::vector<float>{0.5f, 0.75f, 1.0f}));
  EXPECT_EQ(device.read<int64_t>(
                device.run(OpCode::arange, {}, dispatch::ArangeAttrs{DType::kI64, 3, 5, -2})[0]),
            (std::vector<int64_t>{5, 3, 1}));
}

}  // namespace
}  // namespace remora::cpu
