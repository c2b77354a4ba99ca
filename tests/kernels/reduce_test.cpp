#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

using dispatch::ArgReduceAttrs;
using dispatch::PermuteAttrs;
using dispatch::ReduceAttrs;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Reduce, TenMillionValuesSumWithinOneMillionth) {
  CpuDevice device;
  // All of one sign and of very different sizes: naive f32 accumulation is off by percents.
  const int64_t count = 10'000'000;
  const Buffer x =
      device.run(OpCode::uniform, {}, dispatch::RandomAttrs{DType::kF32, {count}, 5, 0})[0];
  double exact = 0;
  for (const float value : device.read<float>(x)) exact += value;
  const auto flat = device.read<float>(device.run(OpCode::sum, {x}, ReduceAttrs{{0}, false})[0]);
  EXPECT_NEAR(flat[0], exact, exact * 1e-6);

  const Buffer rows = device.run(OpCode::reshape, {x}, dispatch::ShapeAttrs{{count / 4, 4}})[0];
  double total = 0;
  for (const float value :
       device.read<float>(device.run(OpCode::sum, {rows}, ReduceAttrs{{0}, false})[0])) {
    total += value;
  }
  EXPECT_NEAR(total, exact, exact * 1e-6);
}

TEST(Reduce, AnyAxesSum) {
  CpuDevice device;
  const Shape shape{3, 5, 7, 2};
  std::vector<float> values(210);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 3;
  const Buffer x = device.upload(shape, values);
  for (int mask = 0; mask < 16; ++mask) {
    ReduceAttrs attrs{{}, false};
    for (int64_t axis = 0; axis < 4; ++axis) {
      if ((mask >> axis & 1) != 0) attrs.axes.push_back(axis);
    }
    const Buffer sums = device.run(OpCode::sum, {x}, attrs)[0];
    std::vector<float> expected(static_cast<size_t>(sums.spec.numel()));
    for (int64_t i = 0; i < 210; ++i) {
      const int64_t index[] = {i / 70, i / 14 % 5, i / 2 % 7, i % 2};
      int64_t output = 0;
      for (int64_t axis = 0; axis < 4; ++axis) {
        if ((mask >> axis & 1) == 0) output = output * shape[axis] + index[axis];
      }
      expected[static_cast<size_t>(output)] += values[static_cast<size_t>(i)];
    }
    EXPECT_EQ(device.read<float>(sums), expected) << "mask " << mask;
  }
}

TEST(Reduce, LongRowsGiveTheLowestIndexOfTheirExtreme) {
  CpuDevice device;
  const int64_t rows = 6, columns = 203;
  std::vector<float> values;
  for (int64_t i = 0; i < rows * columns; ++i)
    values.push_back(static_cast<float>(i * 7919 % 31) - 15);  // every value many times
  values[static_cast<size_t>(2 * columns + 150)] = kNan;
  values[static_cast<size_t>(2 * columns + 170)] = kNan;
  values[static_cast<size_t>(4 * columns + 202)] = 99;
  const Buffer x = device.upload({rows, columns}, values);
  const Buffer turned = device.run(OpCode::permute, {x}, PermuteAttrs{{1, 0}})[0];
  const Buffer strided =
      device.run(OpCode::permute, {device.upload({columns, rows}, device.read<float>(turned))},
                 PermuteAttrs{{1, 0}})[0];
  for (const OpCode code : {OpCode::argmax, OpCode::argmin}) {
    std::vector<int64_t> expected;
    for (int64_t row = 0; row < rows; ++row) {
      const float* const first = values.data() + row * columns;
      const auto nan = std::find_if(first, first + columns, [](float v) { return v != v; });
      const auto* const extreme = nan != first + columns ? nan
                                  : code == OpCode::argmax
                                      ? std::max_element(first, first + columns)
                                      : std::min_element(first, first + columns);
      expected.push_back(extreme - first);
    }
    for (const Buffer& operand : {x, strided}) {
      const ArgReduceAttrs attrs{.axis = 1};
      EXPECT_EQ(device.read<int64_t>(device.run(code, {operand}, attrs)[0]), expected);
    }
  }
}

TEST(Reduce, StridesDoNotChangeTheBits) {
  CpuDevice device;
  const Buffer x = device.random({70, 33, 41}, 1);
  const Buffer view = device.run(OpCode::permute, {x}, PermuteAttrs{{2, 0, 1}})[0];
  const Buffer copy = device.upload(view.spec.shape, device.read<float>(view));
  EXPECT_FALSE(view.is_contiguous());
  for (const Dims& axes :
       {Dims{0}, Dims{1}, Dims{2}, Dims{0, 1}, Dims{0, 2}, Dims{1, 2}, Dims{0, 1, 2}}) {
    const ReduceAttrs attrs{axes, true};
    EXPECT_EQ(device.read<float>(device.run(OpCode::sum, {view}, attrs)[0]),
              device.read<float>(device.run(OpCode::sum, {copy}, attrs)[0]));
  }
}

TEST(Reduce, EmptySumIsZeroAndEmptyOutputIsEmpty) {
  CpuDevice device;
  const Buffer x = device.upload<float>({2, 0, 3}, {});
  EXPECT_EQ(device.read<float>(device.run(OpCode::sum, {x}, ReduceAttrs{{1}, false})[0]),
            std::vector<float>(6, 0.0f));
  EXPECT_EQ(device.read<float>(device.run(OpCode::sum, {x}, ReduceAttrs{{0}, false})[0]).size(),
            0u);
  const Buffer scalar = device.upload<float>({}, {3.5f});
  EXPECT_EQ(device.read<float>(device.run(OpCode::sum, {scalar}, ReduceAttrs{{}, false})[0])[0],
            3.5f);
}

TEST(Reduce, IntegerSumsWrap) {
  CpuDevice device;
  const int64_t largest = std::numeric_limits<int64_t>::max();
  const Buffer x = device.upload<int64_t>({3}, {largest, 1, 1});
  EXPECT_EQ(device.read<int64_t>(device.run(OpCode::sum, {x}, ReduceAttrs{{0}, false})[0])[0],
            std::numeric_limits<int64_t>::min() + 1);
}

TEST(Reduce, MaximumPropagatesNanAtEveryPlace) {
  CpuDevice device;
  for (size_t place = 0; place < 40; ++place) {
    std::vector<float> values(40, -5.0f);
    values[place] = kNan;
    for (const Shape& shape : {Shape{40, 1}, Shape{1, 40}}) {
      const Buffer x = device.upload(shape, values);
      const auto all =
          device.read<float>(device.run(OpCode::amax, {x}, ReduceAttrs{{0, 1}, false})[0]);
      EXPECT_TRUE(std::isnan(all[0])) << place;
    }
  }
  const Buffer infinite = device.upload<float>({2}, {-INFINITY, -INFINITY});
  EXPECT_EQ(device.read<float>(device.run(OpCode::amax, {infinite}, ReduceAttrs{{0}, false})[0])[0],
            -INFINITY);
  const Buffer truths = device.upload_bools({2, 2}, {0, 0, 1, 0});
  EXPECT_EQ(device.read<uint8_t>(device.run(OpCode::amax, {truths}, ReduceAttrs{{1}, false})[0]),
            (std::vector<uint8_t>{0, 1}));
}

TEST(Argmax, LowestIndexAmongEqualsAndFirstNan) {
  CpuDevice device;
  const Buffer x =
      device.upload<float>({3, 4}, {1, 7, 7, 2, 3, kNan, 9, kNan, -INFINITY, -INFINITY, -9, -9});
  EXPECT_EQ(device.read<int64_t>(device.run(OpCode::argmax, {x}, ArgReduceAttrs{1, false})[0]),
            (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(device.read<int64_t>(device.run(OpCode::argmax, {x}, ArgReduceAttrs{0, true})[0]),
            (std::vector<int64_t>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace remora::cpu
