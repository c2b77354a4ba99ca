// Capture: what a device that only records keeps, refuses and gives back.
#include "dispatch/capture.h"

#include <thread>

#include "dispatch/replay.h"
#include "gmock/gmock.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using absl::StatusCode;
using Numbers = std::vector<double>;
using Kind = CapturedSource::Kind;
using testing::ElementsAre;

const Spec kThree{DType::kF32, {3}};

/// An open scope that is closed with the test.
struct OpenScope {
  explicit OpenScope(const Device& device_in = Device::capture())
      : device(device_in), recorder(capture_recorder(device)) {
    recorder.begin();
  }
  ~OpenScope() { recorder.end(); }
  Value input() { return recorder.declare(kThree); }
  CapturedProgram complete(std::vector<Value> inputs, std::vector<Value> outputs) {
    return recorder.complete(inputs, outputs);
  }
  Device device;
  CaptureRecorder& recorder;
};

Numbers run(const CapturedProgram& program, const Device& device, std::vector<Value> inputs) {
  std::vector<Value> initializers;
  for (const HostData& data : program.initializers) initializers.push_back(upload(device, data));
  return numbers(replay(program, device.state(), inputs, initializers)[0]);
}

TEST(Capture, capture_ids_are_distinct_and_monotonic) {
  const Device first = Device::capture();
  const Device named = Device::parse("capture:" + std::to_string(first.index() + 1));
  const Device second = Device::capture();
  EXPECT_GT(second.index(), named.index());
  EXPECT_NE(second, named);
  EXPECT_EQ(second.str(), "capture:" + std::to_string(second.index()));
  EXPECT_EQ(Device::parse(second.str()), second);
}

TEST(Capture, capture_is_never_the_default_and_is_named_in_no_list) {
  EXPECT_NE(Device::default_device().kind(), BackendKind::kCapture);
  EXPECT_TRUE(fails_with(error_of([] { Device::parse("cuda:0").state(); }),
                         StatusCode::kUnimplemented, {"built in: cpu, vulkan"}));
}

TEST(Capture, capture_records_values_and_boundaries) {
  OpenScope scope;
  const Value x = scope.input();
  const Value weights = floats(scope.device, {1, 2, 3});
  const Value sum = op(OpCode::add, {x, weights});
  op(OpCode::mul, {sum, weights});  // nobody asks for it
  const Value twice = op(OpCode::mul, {sum, sum});
  const CapturedProgram program = scope.complete({x}, {twice, x, weights});
  EXPECT_EQ(program.graph->str(),
            "%0 = add($0, $1) : f32[3]\n"
            "%1 = mul(%0, %0) : f32[3]\n");
  EXPECT_EQ(program.inputs, std::vector<Spec>{kThree});
  ASSERT_EQ(program.initializers.size(), 1u);
  EXPECT_EQ(program.initializers[0].spec, kThree);
  EXPECT_THAT(program.externals,
              ElementsAre(CapturedSource{Kind::kInput, 0}, CapturedSource{Kind::kInitializer, 0}));
  EXPECT_THAT(program.outputs,
              ElementsAre(CapturedSource{Kind::kResult, 1}, CapturedSource{Kind::kInput, 0},
                          CapturedSource{Kind::kInitializer, 0}));
  EXPECT_EQ(run(program, Device::cpu(), {floats(Device::cpu(), {1, 1, 1})}), (Numbers{4, 9, 16}));
}

TEST(Capture, a_failed_call_leaves_nothing_in_the_graph) {
  OpenScope scope;
  const Value x = scope.input();
  try {
    const CallScope call;
    submit_random(OpCode::uniform, kThree, scope.device);
    throw std::runtime_error("the call fails");
  } catch (const std::runtime_error&) {
  }
  const CapturedProgram program = scope.complete({x}, {op(OpCode::neg, {x})});
  EXPECT_EQ(program.graph->ops.size(), 1u);
}

TEST(Capture, capture_scope_discipline) {
  const Device device = Device::capture();
  Value from_closed;
  Value weights = floats(device, {1, 2, 3});
  try {
    OpenScope scope(device);
    from_closed = op(OpCode::neg, {scope.input()});
    EXPECT_TRUE(fails_with(error_of([&] { OpenScope second(device); }),
                           StatusCode::kFailedPrecondition, {"already active", device.str()}));
    OpenScope other;  // another device's scope overlaps
    EXPECT_EQ(op(OpCode::neg, {other.input()})->device().device(), other.device);
    throw std::runtime_error("the program fails inside the scope");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(capture_recorder(device).active());
  OpenScope scope(device);
  EXPECT_TRUE(fails_with(error_of([&] { op(OpCode::neg, {from_closed}); }),
                         StatusCode::kFailedPrecondition, {"neg", "closed", device.str()}));
  EXPECT_TRUE(fails_with(error_of([&] { scope.complete({}, {from_closed}); }),
                         StatusCode::kInvalidArgument, {"output 0", "unknown", "closed"}));
  EXPECT_EQ(op(OpCode::neg, {weights})->spec(), kThree) << "host data belongs to the device";
}

TEST(Capture, capture_scope_is_shared_by_threads) {
  OpenScope scope;
  const Value x = scope.input();
  std::vector<Value> results(4);
  std::vector<std::thread> threads;
  for (Value& result : results) threads.emplace_back([&] { result = op(OpCode::neg, {x}); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scope.complete({x}, results).graph->ops.size(), 4u);
}

TEST(Capture, capture_refusals) {
  const Device idle = Device::capture();
  EXPECT_TRUE(fails_with(error_of([&] { filled(idle, {2}, 1); }), StatusCode::kFailedPrecondition,
                         {"full", idle.str(), "no open capture scope"}));
  EXPECT_TRUE(fails_with(error_of([&] { capture_recorder(idle).declare(kThree); }),
                         StatusCode::kFailedPrecondition, {"input", "no open capture scope"}));
  EXPECT_TRUE(fails_with(error_of([] { capture_recorder(Device::cpu()); }),
                         StatusCode::kInvalidArgument, {"cpu", "no capture device"}));
  OpenScope scope;
  const Value x = scope.input();
  const Value y = scope.input();
  const Value weights = floats(scope.device, {1, 2, 3});
  const Value sum = op(OpCode::add, {x, weights});
  const auto refused = [&](std::vector<Value> inputs, std::vector<Value> outputs,
                           const std::vector<std::string>& parts) {
    return fails_with(error_of([&] { scope.complete(inputs, outputs); }),
                      StatusCode::kInvalidArgument, parts);
  };
  EXPECT_TRUE(refused({floats(Device::cpu(), {1})}, {sum}, {"input 0", "cpu", "unknown"}));
  EXPECT_TRUE(refused({x}, {sum, floats(Device::cpu(), {1})}, {"output 1", "cpu", "unknown"}));
  EXPECT_TRUE(refused({x, y, x}, {sum}, {"input 2", "duplicate of input 0"}));
  EXPECT_TRUE(refused({x}, {sum, sum}, {"output 1", "duplicate of output 0"}));
  EXPECT_TRUE(refused({x, weights}, {sum}, {"input 1", "was not declared"}));
  EXPECT_TRUE(refused({y}, {sum}, {"declared input 0", "not among the inputs"}));
  EXPECT_TRUE(refused({x, sum}, {sum}, {"input 1", "product of the graph", "add"}));
  EXPECT_TRUE(refused({x}, {}, {"no output"}));
  EXPECT_TRUE(fails_with(error_of([] { manual_seed(1); }), StatusCode::kFailedPrecondition,
                         {"manual_seed", scope.device.str(), "open capture scope"}));
  EXPECT_EQ(scope.complete({x}, {sum}).graph->ops.size(), 1u) << "the scope stayed open";
  manual_seed(1);
}

TEST(Capture, capture_refuses_autodiff) {
  const Device device = Device::capture();
  EXPECT_TRUE(fails_with(error_of([&] { (void)device.autodiff(); }),
                         StatusCode::kFailedPrecondition, {"autodiff", device.str()}));
}

TEST(Capture, capture_refuses_reads) {
  OpenScope scope;
  const Value weights = floats(scope.device, {1, 2, 3});
  const Value x = scope.input();
  for (const Value& value : {x, weights, op(OpCode::neg, {x})}) {
    EXPECT_TRUE(fails_with(error_of([&] { read(value); }), StatusCode::kFailedPrecondition,
                           {"read", scope.device.str(), "f32[3]"}));
    EXPECT_TRUE(fails_with(error_of([&] {
                             read_all_async({&value, 1}, {[](auto) {}});
                           }),
                           StatusCode::kFailedPrecondition, {"read", scope.device.str()}));
  }
}

TEST(Capture, capture_movement_is_one_way) {
  OpenScope scope;
  OpenScope other;
  const Value concrete = op(OpCode::neg, {floats(Device::cpu(), {1, 2, 3})});
  const Value moved = transfer(concrete, scope.device);
  EXPECT_EQ(transfer(concrete, scope.device), moved) << "one initializer for all its uses";
  const Value computed = op(OpCode::add, {moved, scope.input()});
  for (const Value& value : {moved, computed}) {
    EXPECT_TRUE(fails_with(error_of([&] { transfer(value, Device::cpu()); }),
                           StatusCode::kFailedPrecondition, {"to", scope.device.str(), "cpu"}));
  }
  EXPECT_TRUE(fails_with(error_of([&] { transfer(computed, other.device); }),
                         StatusCode::kFailedPrecondition,
                         {scope.device.str(), other.device.str(), "only host data"}));
  const Value copied = transfer(moved, other.device);
  const CapturedProgram program = other.complete({}, {op(OpCode::abs, {copied})});
  EXPECT_EQ(run(program, Device::cpu(), {}), (Numbers{1, 2, 3}));
}

TEST(Capture, an_operand_elsewhere_becomes_one_initializer) {
  OpenScope scope;
  const Value x = scope.input();
  const Value weights = floats(Device::cpu(1), {1, 2, 3});
  const Value twice = op(OpCode::add, {op(OpCode::add, {x, weights}), weights});
  const CapturedProgram program = scope.complete({x}, {twice});
  EXPECT_EQ(program.initializers.size(), 1u);
  EXPECT_EQ(run(program, Device::cpu(), {floats(Device::cpu(), {0, 0, 0})}), (Numbers{2, 4, 6}));
}

TEST(Capture, host_data_that_failed_on_its_way_fails_the_completion) {
  const ScopedHooks hooks(Device::cpu(), {.fail_op = [](const GraphOp&) {
                            return absl::InternalError("no such luck");
                          }});
  OpenScope scope;
  const Value broken = transfer(op(OpCode::neg, {floats(Device::cpu(), {1})}), scope.device);
  // The op is refused already if the failure is known by then.
  EXPECT_TRUE(fails_with(error_of([&] { scope.complete({}, {op(OpCode::abs, {broken})}); }),
                         StatusCode::kInternal, {"no such luck"}));
}

TEST(Capture, a_run_draws_from_the_device_as_the_calls_would) {
  OpenScope scope;
  const Value first = submit_random(OpCode::uniform, kThree, scope.device);
  const Value unused = submit_random(OpCode::uniform, {DType::kF32, {9}}, scope.device);
  const Value second = submit_random(OpCode::normal, kThree, scope.device);
  const CapturedProgram program = scope.complete({}, {op(OpCode::add, {first, second})});
  const Device cpu = Device::cpu();
  const auto eager = [&] {
    const Value a = submit_random(OpCode::uniform, kThree, cpu);
    submit_random(OpCode::uniform, {DType::kF32, {9}}, cpu);
    return numbers(op(OpCode::add, {a, submit_random(OpCode::normal, kThree, cpu)}));
  };
  manual_seed(3);
  const std::vector<Numbers> expected = {eager(), eager()};
  EXPECT_NE(expected[0], expected[1]);
  manual_seed(3);
  EXPECT_EQ(run(program, cpu, {}), expected[0]);
  EXPECT_EQ(run(program, cpu, {}), expected[1]);
}

TEST(Capture, a_repeated_run_is_a_plan_hit_and_records_nothing) {
  OpenScope scope;
  const Value x = scope.input();
  const CapturedProgram program = scope.complete({x}, {op(OpCode::neg, {op(OpCode::abs, {x})})});
  const Device cpu = Device::cpu();
  const Value one = floats(cpu, {1, 2, 3});
  run(program, cpu, {one});
  const DeviceStats before = cpu.state().stats();
  EXPECT_EQ(run(program, cpu, {one}), (Numbers{-1, -2, -3}));
  const DeviceStats after = cpu.state().stats();
  EXPECT_EQ(after.plan_hits - before.plan_hits, 1u);
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_EQ(after.windows - before.windows, 1u);
}

TEST(Capture, a_run_takes_inputs_of_an_open_window_and_expands_what_the_device_lacks) {
  OpenScope scope;
  const Value x = scope.input();
  const Value result = op(OpCode::softmax, {x}, AxisAttrs{0});
  const CapturedProgram program = scope.complete({x}, {result});
  const Device cpu = Device::cpu();
  const auto open = [&] { return op(OpCode::neg, {floats(cpu, {1, 2, 3})}); };
  const Numbers whole = run(program, cpu, {open()});
  const ScopedHooks hooks(cpu, {.lacks_fast_rows = true});
  const Numbers expanded = run(program, cpu, {open()});
  ASSERT_EQ(expanded.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(expanded[i], whole[i], 1e-6);
}

TEST(Capture, a_run_on_a_capture_device_becomes_part_of_its_scope) {
  OpenScope inner;
  const Value x = inner.input();
  const CapturedProgram negation = inner.complete({x}, {op(OpCode::neg, {x})});
  OpenScope outer;
  const Value y = outer.input();
  const Value negated = replay(negation, outer.device.state(), {&y, 1}, {})[0];
  const CapturedProgram program = outer.complete({y}, {op(OpCode::abs, {negated})});
  EXPECT_EQ(program.graph->ops.size(), 2u);
  EXPECT_EQ(run(program, Device::cpu(), {floats(Device::cpu(), {-1, 2, 3})}), (Numbers{1, 2, 3}));
}

}  // namespace
}  // namespace remora::test
