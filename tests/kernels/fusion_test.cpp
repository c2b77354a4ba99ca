// Elementwise ops that run as one: the bits of one after the other, and no memory for what only
// they use.
#include <numeric>

#include "dispatch/graph.h"
#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

using dispatch::GraphBuilder;
using dispatch::LiveSet;
using dispatch::Position;

/// A graph under construction, and each of its ops run alone beside it.
class Both {
 public:
  explicit Both(CpuDevice& device) : device_(device) {}

  Position input(const Buffer& buffer) {
    inputs_.push_back(buffer);
    return Position::external(builder_.add_input(buffer.spec));
  }
  Position op(OpCode code, const std::vector<Position>& operands,
              const Attrs& attrs = dispatch::NoAttrs{}) {
    std::vector<Buffer> buffers;
    std::vector<Spec> specs;
    for (const Position operand : operands) {
      buffers.push_back(value(operand));
      specs.push_back(buffers.back().spec);
    }
    const Buffer alone = device_.run(code, buffers, attrs)[0];
    const auto& info = dispatch::op_info(code);
    const uint32_t output =
        builder_.add_op(info, operands, attrs, *dispatch::infer(info, specs, attrs));
    alone_.push_back(alone);
    return Position::output(output);
  }

  /// Runs the graph, of which the `live` outputs are wanted, and compares those bit for bit. Gives
  /// the plan's peak.
  int64_t compare(const std::vector<Position>& live) {
    const auto graph = builder_.finish(params_);
    LiveSet live_set(graph->outputs.size(), false);
    for (const Position position : live) live_set[position.index()] = true;
    const auto plan = *device_.backend().prepare(graph, live_set);
    const std::vector<bool> consumed(inputs_.size(), false);
    const auto result = device_.backend().run(*plan, {inputs_, params_, consumed, 1, false});
    EXPECT_TRUE(result.status.ok()) << result.status;
    for (const Position position : live) {
      EXPECT_EQ(bytes(result.outputs[position.index()]), bytes(alone_[position.index()]))
          << graph->str() << "output " << position.index();
    }
    return plan->peak_bytes();
  }

 private:
  const Buffer& value(Position position) const {
    return position.is_external() ? inputs_[position.index()] : alone_[position.index()];
  }
  std::vector<std::byte> bytes(const Buffer& buffer) {
    std::vector<std::byte> all;
    device_.backend().download(buffer, [&](absl::StatusOr<dispatch::HostData> data) {
      ASSERT_TRUE(data.ok()) << data.status();
      all.assign(data->span().begin(), data->span().end());
    });
    return all;
  }

  CpuDevice& device_;
  GraphBuilder builder_;
  std::vector<Buffer> inputs_;
  std::vector<Buffer> alone_;  // by output
  std::vector<uint64_t> params_;
};

Buffer as(CpuDevice& device, const Buffer& x, DType dtype) {
  return device.run(OpCode::astype, {x}, dispatch::DTypeAttrs{dtype})[0];
}

TEST(Fusion, AGroupGivesTheBitsOfItsOpsInEveryFloatType) {
  CpuDevice device;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (const Shape& shape : {Shape{5000}, Shape{3, 1}, Shape{}, Shape{0, 4}, Shape{7, 1500}}) {
      Both both(device);
      const Position x = both.input(as(device, device.random(shape, 1), dtype));
      const Position y = both.input(as(device, device.random(shape, 2), dtype));
      const Position sum = both.op(OpCode::add, {x, y});
      const Position root = both.op(OpCode::exp, {sum});
      const Position less = both.op(OpCode::less, {root, x});
      const Position chosen = both.op(OpCode::where, {less, root, y});
      const Position whole = both.op(OpCode::astype, {chosen}, dispatch::DTypeAttrs{DType::kI32});
      const Position half = both.op(OpCode::astype, {whole}, dispatch::DTypeAttrs{DType::kF16});
      const Position last = both.op(OpCode::mul, {chosen, sum});
      both.compare({last, half, less});
    }
  }
}

TEST(Fusion, OperandsBroadcastAndAreStrided) {
  CpuDevice device;
  for (const int64_t columns : {3, 1100, 2048}) {
    Both both(device);
    const Position matrix = both.input(device.random({5, columns}, 1));
    const Position row = both.input(device.random({columns}, 2));
    const Position column = both.input(device.random({5, 1}, 3));
    const Position scalar = both.input(device.random({}, 4));
    const Position other = both.input(device.random({columns, 5}, 5));
    const Position sum = both.op(OpCode::add, {matrix, row});
    const Position turned = both.op(OpCode::permute, {other}, dispatch::PermuteAttrs{{1, 0}});
    const Position scaled = both.op(OpCode::mul, {sum, column});
    const Position shifted = both.op(OpCode::sub, {scaled, scalar});
    const Position last = both.op(OpCode::maximum, {shifted, turned});
    both.compare({last, scaled});
  }
}

TEST(Fusion, MoreValuesThanRowsMakeMoreGroups) {
  CpuDevice device;
  Both both(device);
  const Shape shape{2000};
  std::vector<Position> values;
  for (uint64_t i = 0; i < 12; ++i) values.push_back(both.input(device.random({1}, i)));
  const Position x = both.input(device.random(shape, 99));
  std::vector<Position> sums;
  for (const Position scalar : values) sums.push_back(both.op(OpCode::add, {x, scalar}));
  const size_t count = sums.size();
  for (size_t i = 0; i + 1 < count; ++i)
    sums.push_back(both.op(OpCode::mul, {sums[i], sums[i + 1]}));
  Position total = sums[0];
  for (size_t i = 1; i < sums.size(); ++i) total = both.op(OpCode::add, {total, sums[i]});
  both.compare({total});
}

TEST(Fusion, LongChainsAndValuesNobodyWants) {
  CpuDevice device;
  Both both(device);
  Position value = both.input(device.random({3000}, 1));
  const Position kept = both.op(OpCode::neg, {value});
  for (int i = 0; i < 150; ++i) {
    value = both.op(i % 2 == 0 ? OpCode::sin : OpCode::square, {value});
    (void)both.op(OpCode::exp, {value});  // dropped at once
  }
  both.compare({value, kept});
}

TEST(Fusion, WhatOnlyTheGroupUsesTakesNoMemory) {
  CpuDevice device;
  const Shape shape{1 << 16};
  Both both(device);
  Position value = both.input(device.random(shape, 1));
  for (int i = 0; i < 20; ++i) value = both.op(OpCode::tanh, {both.op(OpCode::neg, {value})});
  EXPECT_EQ(both.compare({value}), Spec(DType::kF32, shape).byte_size());
}

TEST(Fusion, ADivisorOfZeroFailsItsOpAlone) {
  CpuDevice device;
  GraphBuilder builder;
  const Spec spec{DType::kI32, {3}};
  const std::vector<Buffer> inputs = {device.upload<int32_t>({3}, {7, 8, 9}),
                                      device.upload<int32_t>({3}, {2, 0, 3})};
  const Position x = Position::external(builder.add_input(spec));
  const Position y = Position::external(builder.add_input(spec));
  const Spec specs[] = {spec};
  const auto op = [&](OpCode code, const std::vector<Position>& operands) {
    return Position::output(
        builder.add_op(dispatch::op_info(code), operands, dispatch::NoAttrs{}, specs));
  };
  const Position sum = op(OpCode::add, {x, y});
  op(OpCode::fmod, {sum, y});
  op(OpCode::neg, {sum});
  std::vector<uint64_t> params;
  const auto graph = builder.finish(params);
  const auto plan = *device.backend().prepare(graph, LiveSet(3, true));
  const auto result = device.backend().run(*plan, {inputs, params, {false, false}, 1, false});
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].op, 1u);
  EXPECT_EQ(device.read<int32_t>(result.outputs[2]), (std::vector<int32_t>{-9, -8, -12}));
}

}  // namespace
}  // namespace remora::cpu
