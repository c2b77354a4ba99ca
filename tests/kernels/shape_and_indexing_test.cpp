#include <cmath>
#include <limits>

#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

using dispatch::AxisAttrs;
using dispatch::PermuteAttrs;
using dispatch::PoolAttrs;
using dispatch::ShapeAttrs;
using dispatch::SliceAttrs;

std::vector<float> counting(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST(Views, TakeNoMemory) {
  CpuDevice device;
  const Buffer x = device.upload({60, 40}, counting(2400));
  const int64_t before = device.live_bytes();
  const Buffer permuted = device.run(OpCode::permute, {x}, PermuteAttrs{{1, 0}})[0];
  const Buffer sliced =
      device.run(OpCode::slice, {permuted}, SliceAttrs{{39, 3}, {-2, 5}, {3, 4}})[0];
  const Buffer wide = device.run(OpCode::broadcast_to, {sliced}, ShapeAttrs{{100, 3, 4}})[0];
  const Buffer flat = device.run(OpCode::reshape, {x}, ShapeAttrs{{2, 30, 5, 8}})[0];
  EXPECT_EQ(device.live_bytes(), before);
  EXPECT_EQ(wide.storage, x.storage);
  EXPECT_EQ(device.read<float>(sliced),
            (std::vector<float>{159, 359, 559, 759, 157, 357, 557, 757, 155, 355, 555, 755}));
  EXPECT_EQ(device.read<float>(flat), counting(2400));
}

TEST(Views, ReshapeCopiesOnlyWhereStridesAllowNoView) {
  CpuDevice device;
  const Buffer x = device.upload({4, 6, 10}, counting(240));
  const Buffer sliced =
      device.run(OpCode::slice, {x}, SliceAttrs{{0, 0, 0}, {1, 2, 1}, {4, 3, 10}})[0];
  const Buffer split = device.run(OpCode::reshape, {sliced}, ShapeAttrs{{2, 2, 3, 5, 2}})[0];
  EXPECT_EQ(split.storage, x.storage);
  EXPECT_EQ(device.read<float>(split), device.read<float>(sliced));
  const Buffer merged = device.run(OpCode::reshape, {sliced}, ShapeAttrs{{12, 10}})[0];
  EXPECT_EQ(merged.storage, x.storage) << "axes 0 and 1 lie evenly: 4 * 3 rows of 20";
  const Buffer transposed = device.run(OpCode::permute, {x}, PermuteAttrs{{2, 1, 0}})[0];
  const Buffer flat = device.run(OpCode::reshape, {transposed}, ShapeAttrs{{240}})[0];
  EXPECT_NE(flat.storage, x.storage);
  EXPECT_EQ(device.read<float>(flat), device.read<float>(transposed));
}

TEST(Slice, AStartOutOfRangeIsAnErrorOfTheOp) {
  CpuDevice device;
  const Buffer x = device.upload({2, 5}, counting(10));
  for (const int64_t start : {int64_t{4}, int64_t{-1}, std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min()}) {
    const auto result = device.try_run(OpCode::slice, {x}, SliceAttrs{{0, start}, {1, 2}, {2, 2}});
    ASSERT_TRUE(result.status.ok());
    ASSERT_EQ(result.failures.size(), 1u);
    EXPECT_EQ(result.failures[0].status,
              absl::InvalidArgumentError(
                  "slice: start " + std::to_string(start) +
                  " is out of range for axis 1 of size 5: 2 elements in steps of 2 "
                  "need a start in [0, 2]"));
    const auto clamped =
        start > 0 ? std::vector<float>{2, 4, 7, 9} : std::vector<float>{0, 2, 5, 7};
    EXPECT_EQ(device.read<float>(result.outputs[0]), clamped);
  }
  const Buffer box = device.upload<float>({1, 2}, {-1, -2});
  const auto assigned =
      device.try_run(OpCode::slice_assign, {x, box}, SliceAttrs{{9, 0}, {1, 1}, {1, 2}});
  ASSERT_EQ(assigned.failures.size(), 1u);
  EXPECT_EQ(device.read<float>(assigned.outputs[0]),
            (std::vector<float>{0, 1, 2, 3, 4, -1, -2, 7, 8, 9}));
}

TEST(Slice, AssignWritesBackwardsAndLeavesTheInputAlone) {
  CpuDevice device;
  const Buffer x = device.upload({6}, counting(6));
  const Buffer box = device.upload<float>({3}, {10, 20, 30});
  const Buffer out = device.run(OpCode::slice_assign, {x, box}, SliceAttrs{{5}, {-2}, {3}})[0];
  EXPECT_EQ(device.read<float>(out), (std::vector<float>{0, 30, 2, 20, 4, 10}));
  EXPECT_EQ(device.read<float>(x), counting(6));
}

TEST(Concat, JoinsStridedAndEmptyTensors) {
  CpuDevice device;
  const Buffer x = device.upload({2, 3}, counting(6));
  const Buffer turned = device.run(OpCode::permute, {x}, PermuteAttrs{{1, 0}})[0];
  const Buffer square = device.run(OpCode::slice, {turned}, SliceAttrs{{0, 0}, {1, 1}, {2, 2}})[0];
  const Buffer empty = device.upload<float>({2, 0}, {});
  EXPECT_EQ(device.read<float>(device.run(OpCode::concat, {x, empty, square}, AxisAttrs{1})[0]),
            (std::vector<float>{0, 1, 2, 0, 3, 3, 4, 5, 1, 4}));
}

TEST(Gather, TakesAlongTheAxisAndRefusesIndexesOutOfRange) {
  CpuDevice device;
  const Buffer x = device.upload({2, 5}, counting(10));
  const Buffer index = device.upload<int64_t>({2, 3}, {4, 0, 0, 1, 2, 3});
  EXPECT_EQ(device.read<float>(device.run(OpCode::gather, {x, index}, AxisAttrs{1})[0]),
            (std::vector<float>{4, 0, 0, 6, 7, 8}));
  const Buffer bad = device.upload<int64_t>({2, 2}, {1, 7, -1, 0});
  const auto result = device.try_run(OpCode::gather, {x, bad}, AxisAttrs{1});
  ASSERT_TRUE(result.status.ok());
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].status,
            absl::InvalidArgumentError("gather: index 7 is out of range for axis 1 of size 5"));
  EXPECT_EQ(device.read<float>(result.outputs[0]), (std::vector<float>{1, 4, 5, 5}));
}

TEST(Gather, ABroadcastIndexPicksRows) {
  CpuDevice device;
  const Buffer table = device.upload({4, 3}, counting(12));
  const Buffer ids = device.upload<int64_t>({5, 1}, {3, 0, 3, 1, 2});
  const Buffer index = device.run(OpCode::broadcast_to, {ids}, ShapeAttrs{{5, 3}})[0];
  EXPECT_EQ(device.read<float>(device.run(OpCode::gather, {table, index}, AxisAttrs{0})[0]),
            (std::vector<float>{9, 10, 11, 0, 1, 2, 9, 10, 11, 3, 4, 5, 6, 7, 8}));
}

TEST(ScatterAdd, AddsDuplicatesAndRefusesIndexesOutOfRange) {
  CpuDevice device;
  const Buffer base = device.upload<int64_t>({3, 2}, {100, 200, 300, 400, 500, 600});
  const Buffer index = device.upload<int64_t>({2, 2}, {2, 0, 2, 1});
  const Buffer source = device.upload<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      device.read<int64_t>(device.run(OpCode::scatter_add, {base, index, source}, AxisAttrs{0})[0]),
      (std::vector<int64_t>{100, 202, 300, 404, 504, 600}));
  const Buffer bad = device.upload<int64_t>({2, 2}, {0, 0, 3, 0});
  const auto result = device.try_run(OpCode::scatter_add, {base, bad, source}, AxisAttrs{0});
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(
      result.failures[0].status,
      absl::InvalidArgumentError("scatter_add: index 3 is out of range for axis 0 of size 3"));
}

TEST(MaxPool, PaddingNeverWinsAndNanPropagates) {
  CpuDevice device;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Buffer x = device.upload<float>({1, 1, 3, 3}, {-5, -4, -3, -2, nan, -2, -9, -8, -8});
  const PoolAttrs attrs{{2, 2}, {2, 2}, {1, 1}, {1, 1}, false};
  const auto outputs = device.run(OpCode::max_pool2d, {x}, attrs);
  const auto values = device.read<float>(outputs[0]);
  EXPECT_EQ(values[0], -5);
  EXPECT_EQ(values[1], -3);
  EXPECT_EQ(values[2], -2);
  EXPECT_TRUE(std::isnan(values[3]));
  EXPECT_EQ(device.read<int64_t>(outputs[1]), (std::vector<int64_t>{0, 2, 3, 4}));
}

TEST(MaxPool, CeilModeAndDilationFollowTheirShapes) {
  CpuDevice device;
  const Buffer x = device.upload({1, 2, 5, 5}, counting(50));
  const auto ceiled =
      device.run(OpCode::max_pool2d, {x}, PoolAttrs{{2, 2}, {2, 2}, {0, 0}, {1, 1}, true});
  EXPECT_EQ(
      device.read<int64_t>(ceiled[1]),
      (std::vector<int64_t>{6, 8, 9, 16, 18, 19, 21, 23, 24, 6, 8, 9, 16, 18, 19, 21, 23, 24}));
  const auto dilated =
      device.run(OpCode::max_pool2d, {x}, PoolAttrs{{2, 2}, {1, 1}, {1, 1}, {3, 3}, false});
  EXPECT_EQ(dilated[0].spec.shape, (Shape{1, 2, 4, 4}));
  EXPECT_EQ(device.read<float>(dilated[0])[0], 12);
  const Buffer ties = device.upload<int64_t>({1, 1, 2, 2}, {7, 7, 7, 7});
  EXPECT_EQ(
      device.read<int64_t>(device.run(OpCode::max_pool2d, {ties},
                                      PoolAttrs{{2, 2}, {1, 1}, {0, 0}, {1, 1}, false})[1])[0],
      0);
}

TEST(Softmax, SurvivesLargeValuesAndSumsToOne) {
  CpuDevice device;
  const Buffer x = device.upload<float>({2, 3}, {1000, 1001, 1002, -INFINITY, 0, -INFINITY});
  for (const bool inner : {true, false}) {
    const Buffer turned = device.run(OpCode::permute, {x}, PermuteAttrs{{1, 0}})[0];
    const Buffer out = inner ? device.run(OpCode::softmax, {x}, AxisAttrs{1})[0]
                             : device.run(OpCode::softmax, {turned}, AxisAttrs{0})[0];
    const auto values = device.read<float>(
        inner ? out : device.run(OpCode::permute, {out}, PermuteAttrs{{1, 0}})[0]);
    EXPECT_NEAR(values[0], 0.0900306, 1e-6);
    EXPECT_NEAR(values[2], 0.6652410, 1e-6);
    EXPECT_EQ(values[3], 0);
    EXPECT_EQ(values[4], 1);
  }
}

}  // namespace
}  // namespace remora::cpu
