#include "dispatch/graph.h"

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/register_backends.h"
#include "tests/kernels/cpu_device.h"

namespace remora::dispatch {

void register_backends(Registry& registry) { register_local_backends(registry); }

}  // namespace remora::dispatch

namespace remora::cpu {
namespace {

using dispatch::FullAttrs;
using dispatch::GraphBuilder;
using dispatch::Position;
using dispatch::SliceAttrs;

/// Builds a graph of ops over positions.
struct Program {
  GraphBuilder builder;
  std::vector<Spec> inputs, outputs;
  std::vector<uint64_t> params;

  Position input(const Spec& spec) {
    inputs.push_back(spec);
    return Position::external(builder.add_input(spec));
  }
  Position op(OpCode code, std::vector<Position> operands,
              const Attrs& attrs = dispatch::NoAttrs{}) {
    std::vector<Spec> specs;
    specs.reserve(operands.size());
    for (const Position p : operands)
      specs.push_back(p.is_external() ? inputs[p.index()] : outputs[p.index()]);
    const auto made = *dispatch::infer(dispatch::op_info(code), specs, attrs);
    outputs.insert(outputs.end(), made.begin(), made.end());
    return Position::output(builder.add_op(dispatch::op_info(code), operands, attrs, made));
  }
};

dispatch::RunResult run_plan(CpuDevice& device, dispatch::Plan& plan,
                             const std::vector<Buffer>& inputs,
                             const std::vector<uint64_t>& params) {
  const std::vector<bool> consumed(inputs.size(), false);
  return device.backend().run(plan, {inputs, params, consumed, 1, false});
}

TEST(Plan, TemporariesAreFreedAtTheirLastUse) {
  CpuDevice device;
  const Spec spec{DType::kF32, {1 << 6, 1 << 10}};
  const Buffer x = device.random(spec.shape, 1);
  Program program;
  Position value = program.input(spec);
  // What does not fuse with its neighbours, so that every op has a result of its own.
  for (int i = 0; i < 40; ++i)
    value = program.op(OpCode::cumsum, {value}, dispatch::AxisAttrs{.axis = 0});
  const auto graph = program.builder.finish(program.params);
  dispatch::LiveSet live(graph->outputs.size(), false);
  live.back() = true;
  const auto plan = *device.backend().prepare(graph, live);
  EXPECT_EQ(plan->peak_bytes(), 2 * spec.byte_size());

  const int64_t before = device.live_bytes();
  {
    const auto result = run_plan(device, *plan, {x}, {});
    ASSERT_TRUE(result.status.ok());
    EXPECT_EQ(result.outputs.size(), 40u);
    EXPECT_EQ(result.outputs[0].storage, nullptr);
    EXPECT_NE(result.outputs.back().storage, nullptr);
    EXPECT_EQ(device.live_bytes(), before + spec.byte_size());
    EXPECT_EQ(device.backend().memory().cached_bytes, spec.byte_size())
        << "two blocks served the whole run";
  }
  EXPECT_EQ(device.live_bytes(), before);
}

TEST(Plan, AViewKeepsItsStorageUntilItsOwnLastUse) {
  CpuDevice device;
  Program program;
  const Spec spec{DType::kF32, {64, 64}};
  const Position x = program.input(spec);
  const Position y = program.op(OpCode::neg, {x});
  const Position view = program.op(OpCode::permute, {y}, dispatch::PermuteAttrs{{1, 0}});
  const Position flat = program.op(OpCode::reshape, {view}, dispatch::ShapeAttrs{{4096}});
  const Position again = program.op(OpCode::neg, {flat});
  program.op(OpCode::add, {again, program.op(OpCode::full, {}, FullAttrs{DType::kF32, {}, 1.0})});
  const auto graph = program.builder.finish(program.params);
  dispatch::LiveSet live(graph->outputs.size(), false);
  live.back() = true;
  const auto plan = *device.backend().prepare(graph, live);
  EXPECT_GE(plan->peak_bytes(), 3 * spec.byte_size());
  const Buffer input = device.random(spec.shape, 3);
  const auto result = run_plan(device, *plan, {input}, program.params);
  ASSERT_TRUE(result.status.ok());
  const auto got = device.read<float>(result.outputs.back());
  const auto want = device.read<float>(input);
  for (size_t i = 0; i < 64; ++i) {
    for (size_t j = 0; j < 64; ++j) ASSERT_EQ(got[i * 64 + j], want[j * 64 + i] + 1.0f);
  }
}

TEST(Plan, MemoryReturnsToZero) {
  CpuDevice device;
  {
    const Buffer a = device.random({100, 50}, 1);
    const Buffer b = device.random({50, 70}, 2);
    const Buffer c = device.run(OpCode::matmul, {a, b})[0];
    const Buffer view = device.run(OpCode::permute, {c}, dispatch::PermuteAttrs{{1, 0}})[0];
    const Buffer sums = device.run(OpCode::softmax, {view}, dispatch::AxisAttrs{1})[0];
    EXPECT_GT(device.live_bytes(), 0);
  }
  EXPECT_EQ(device.live_bytes(), 0);
}

TEST(Plan, ARunThatDoesNotFitIsRefusedWholeWithBothNumbers) {
  CpuDevice device({.threads = 1, .memory_limit_bytes = 1 << 20});
  const Buffer x = device.random({1 << 16}, 1);
  const int64_t before = device.live_bytes();
  Program program;
  const Position in = program.input(x.spec);
  const Position y = program.op(OpCode::neg, {in});
  program.op(OpCode::broadcast_to, {y}, dispatch::ShapeAttrs{{64, 1 << 16}});
  program.op(OpCode::add, {Position::output(1), Position::output(1)});
  const auto graph = program.builder.finish(program.params);
  const auto plan = *device.backend().prepare(graph, dispatch::LiveSet(3, true));
  const auto result = run_plan(device, *plan, {x}, {});
  EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
  const std::string message(result.status.message());
  EXPECT_NE(message.find("add"), std::string::npos) << message;
  EXPECT_NE(message.find("16777216"), std::string::npos) << message;
  EXPECT_NE(message.find("1048576"), std::string::npos) << message;
  EXPECT_TRUE(result.outputs.empty());
  EXPECT_EQ(device.live_bytes(), before);
}

TEST(Plan, ParamsChangeFromRunToRun) {
  CpuDevice device;
  Program program;
  const Position x = program.input({DType::kI64, {4}});
  program.op(OpCode::slice, {x}, SliceAttrs{{0}, {1}, {2}});
  program.op(OpCode::full, {}, FullAttrs{DType::kI64, {1}, int64_t{3}});
  const auto graph = program.builder.finish(program.params);
  const auto plan = *device.backend().prepare(graph, dispatch::LiveSet(2, true));
  const Buffer in = device.upload<int64_t>({4}, {10, 11, 12, 13});
  for (const uint64_t start : {0u, 2u, 1u}) {
    auto params = program.params;
    params[0] = start;
    params[1] = 40 + start;
    const auto result = run_plan(device, *plan, {in}, params);
    ASSERT_TRUE(result.status.ok() && result.failures.empty());
    const auto first = static_cast<int64_t>(start);
    EXPECT_EQ(device.read<int64_t>(result.outputs[0]),
              (std::vector<int64_t>{10 + first, 11 + first}));
    EXPECT_EQ(device.read<int64_t>(result.outputs[1])[0], 40 + first);
  }
}

TEST(Plan, AFailedOpIsNamedAndTheRestStillRuns) {
  CpuDevice device;
  Program program;
  const Position x = program.input({DType::kF32, {3}});
  const Position index = program.input({DType::kI64, {1}});
  program.op(OpCode::neg, {x});
  program.op(OpCode::gather, {x, index}, dispatch::AxisAttrs{0});
  program.op(OpCode::exp, {Position::output(1)});
  program.op(OpCode::square, {x});
  const auto graph = program.builder.finish(program.params);
  const auto plan = *device.backend().prepare(graph, dispatch::LiveSet(4, true));
  const auto result = run_plan(
      device, *plan, {device.upload<float>({3}, {1, 2, 3}), device.upload<int64_t>({1}, {3})}, {});
  ASSERT_TRUE(result.status.ok());
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].op, 1u);
  EXPECT_EQ(device.read<float>(result.outputs[3]), (std::vector<float>{1, 4, 9}));
}

TEST(Plan, TheBackendSupportsWhatTheCatalogueAllows) {
  CpuDevice device;
  for (const dispatch::OpInfo& info : dispatch::catalogue()) {
#define DTYPE(number, enumerator, ...)                               \
  EXPECT_EQ(device.backend().supports(info.code, DType::enumerator), \
            dispatch::contains(info.dtypes, DType::enumerator))      \
      << info.name;
#include "dispatch/dtypes.def"
#undef DTYPE
  }
  EXPECT_FALSE(device.backend().supports(OpCode::exp, DType::kI64));
}

TEST(Kernels, EveryCatalogueRowHasOne) {
  CpuDevice device;
  for (const dispatch::OpInfo& info : dispatch::catalogue()) {
    EXPECT_NE(choose_simd("")->kernels().find(info.code), nullptr) << info.name;
    const bool any = device.backend().supports(info.code, DType::kF32) ||
                     device.backend().supports(info.code, DType::kI64) ||
                     device.backend().supports(info.code, DType::kBool);
    EXPECT_TRUE(any) << info.name;
  }
}

TEST(Upload, AdoptsLargeHostDataAndCountsIt) {
  CpuDevice device;
  const Spec spec{DType::kF32, {4096}};
  const auto data = dispatch::HostData::make(
      spec, [](std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0}); });
  {
    const Buffer buffer = *device.backend().upload({}, data);
    EXPECT_EQ(data.bytes.use_count(), 2);
    EXPECT_EQ(device.live_bytes(), spec.byte_size());
  }
  EXPECT_EQ(data.bytes.use_count(), 1);
  EXPECT_EQ(device.live_bytes(), 0);
}

TEST(Upload, BoolBytesBecomeZeroOrOne) {
  CpuDevice device;
  for (const int64_t count : {5, 50'000}) {
    const Buffer buffer =
        device.upload_bools({count}, std::vector<uint8_t>(static_cast<size_t>(count), 200));
    EXPECT_EQ(device.read<uint8_t>(buffer), std::vector<uint8_t>(static_cast<size_t>(count), 1));
  }
}

TEST(Upload, BeyondTheLimitIsRefused) {
  CpuDevice device({.threads = 1, .memory_limit_bytes = 10'000});
  const Spec spec{DType::kF32, {4096}};
  const auto data = dispatch::HostData::make(
      spec, [](std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0}); });
  EXPECT_EQ(device.backend().upload({}, data).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Download, ABroadcastLargerThanTheLimitIsRefused) {
  CpuDevice device({.threads = 1, .memory_limit_bytes = 1 << 20});
  const Buffer wide = device.run(OpCode::broadcast_to, {device.upload<float>({1}, {1})},
                                 dispatch::ShapeAttrs{{int64_t{1} << 40}})[0];
  absl::Status status;
  device.backend().download(
      wide, [&](const absl::StatusOr<dispatch::HostData>& data) { status = data.status(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(Download, AReadOutlivesTheTensor) {
  CpuDevice device;
  dispatch::HostData data;
  {
    const Buffer x = device.random({1 << 16}, 1);
    device.backend().download(
        x, [&](absl::StatusOr<dispatch::HostData> read) { data = *std::move(read); });
  }
  EXPECT_EQ(device.live_bytes(), data.spec.byte_size());
  data = {};
  EXPECT_EQ(device.live_bytes(), 0);
}

TEST(Open, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(open_cpu(-1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open_cpu(0, {.threads = 100'000}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open_cpu(0, {.memory_limit_bytes = -1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto other = backend_factory().open({.kind = BackendKind::kCpu, .index = 1});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*backend_factory().count(), 1);
}

TEST(HostMemory, BlocksAreAlignedAndWritable) {
  HostMemory memory;
  for (const int64_t bytes :
       {int64_t{1}, int64_t{100}, int64_t{1} << 20, int64_t{3} << 20, (int64_t{2} << 20) + 1}) {
    void* block = memory.allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    std::memset(block, 1, static_cast<size_t>(bytes));
    memory.free(block, bytes);
  }
  EXPECT_EQ(memory.allocate(std::numeric_limits<int64_t>::max()), nullptr);
}

}  // namespace
}  // namespace remora::cpu
