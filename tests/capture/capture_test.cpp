// Captured graphs as a program uses them: recorded from tensors, run on every device, kept in
// files.
#include "client/capture/captured_graph.h"
#include "client/capture/scope.h"

#include <functional>
#include <sstream>

#include "client/io/tensor_files.h"
#include "client/nn/activations.h"
#include "client/nn/convolution.h"
#include "client/nn/layers.h"
#include "client/nn/normalization.h"
#include "client/ops.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/device_variants.h"
#include "tests/support/temporary_folder.h"

#if REMORA_CPU  // else see no_backend_test.cpp

namespace remora::capture {
namespace {

using testing::HasSubstr;

/// The error that `call` throws; OK if it throws none.
template <typename Call>
absl::Status error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

testing::AssertionResult refused(const absl::Status& status, absl::StatusCode code,
                                 const std::vector<std::string>& parts) {
  if (status.code() != code) return testing::AssertionFailure() << status;
  for (const std::string& part : parts) {
    if (status.message().find(part) == absl::string_view::npos) {
      return testing::AssertionFailure() << status << " lacks " << part;
    }
  }
  return testing::AssertionSuccess();
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const ReadFuture read = tensor.read_async();
  const auto bytes = read.get().span();
  return {bytes.begin(), bytes.end()};
}

/// What the MNIST example trains, for 8 x 8 images.
nn::Sequential classifier() {
  return nn::Sequential(nn::Conv2d(1, 8, 3), nn::BatchNorm2d(8), nn::ReLU(), nn::Flatten(),
                        nn::Linear(288, 10));
}

Tensor images(const Device& device, int64_t batch = 4) {
  std::vector<float> pixels(static_cast<size_t>(batch * 64));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 17) / 17.0f;
  return from_data(pixels, {batch, 1, 8, 8}, device);
}

CapturedGraph capture_model(nn::Sequential& model, int64_t batch = 4) {
  const Device recorder = Device::capture();
  model.to(Device::cpu());  // drawn there
  model.eval();
  model.to(recorder);
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {batch, 1, 8, 8}});
  return scope.complete({x}, {softmax(model(x), -1)});
}

class OnDevice : public test::OnEveryDevice {};

TEST_P(OnDevice, capture_runs_everywhere) {
  nn::Sequential model = classifier();
  model.to(Device::cpu());
  const TensorMap state = model.state_dict();
  const CapturedGraph graph = capture_model(model);
  EXPECT_GT(graph.initializers().size(), 4u);
  nn::Sequential eager = classifier();
  eager.to(device());
  eager.load_state_dict(state);
  eager.eval();
  const Tensor expected = softmax(eager(images(device())), -1);
  const std::vector<Tensor> outputs = graph.run({images(device())}, device());
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].device(), device());
  EXPECT_EQ(outputs[0].spec(), graph.outputs()[0]);
  EXPECT_EQ(bytes_of(outputs[0]), bytes_of(expected));
  EXPECT_EQ(bytes_of(graph.run({images(Device::cpu())}, device())[0]), bytes_of(expected))
      << "inputs elsewhere are moved";
}

TEST_P(OnDevice, capture_runs_every_dtype) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> arguments;
  const Tensor numbers = from_data({0, 1, 2, 3}, {4}, device());
#define DTYPE(number, enumerator, ...)                                                            \
  inputs.push_back(scope.input({DType::enumerator, {4}}));                                        \
  outputs.push_back(concat({inputs.back(), astype(numbers, DType::enumerator).to(recorder)}, 0)); \
  arguments.push_back(astype(numbers, DType::enumerator));
#include "dispatch/dtypes.def"
#undef DTYPE
  const CapturedGraph graph = scope.complete(inputs, outputs);
  const std::vector<Tensor> results = graph.run(arguments, device());
  ASSERT_EQ(results.size(), arguments.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(bytes_of(results[i]), bytes_of(concat({arguments[i], arguments[i]}, 0)))
        << dtype_name(arguments[i].dtype());
  }
}

TEST_P(OnDevice, a_second_run_is_one_plan_hit_and_on_a_worker_one_message) {
  nn::Sequential model = classifier();
  const CapturedGraph graph = capture_model(model, 1);
  const auto call = [&] { return bytes_of(graph.run({images(device(), 1)}, device())[0]); };
  const std::vector<std::byte> first = call();
  const dispatch::DeviceStats before = device().state().stats();
  constexpr uint64_t kCalls = 5;
  for (uint64_t i = 0; i < kCalls; ++i) EXPECT_EQ(call(), first);
  const dispatch::DeviceStats after = device().state().stats();
  EXPECT_EQ(after.plan_hits - before.plan_hits, kCalls);
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_EQ(after.wire.graphs_defined, before.wire.graphs_defined);
  EXPECT_EQ(after.wire.frames_sent - before.wire.frames_sent, is_remote() ? kCalls : 0);
  EXPECT_EQ(after.wire.round_trips - before.wire.round_trips, is_remote() ? kCalls : 0);
}

TEST_P(OnDevice, capture_save_load) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.graph";
  nn::Sequential model = classifier();
  const CapturedGraph graph = capture_model(model);
  graph.save(path);
  const CapturedGraph loaded = CapturedGraph::load(path);
  EXPECT_EQ(loaded.str(), graph.str());
  EXPECT_EQ(bytes_of(loaded.run({images(device())}, device())[0]),
            bytes_of(graph.run({images(device())}, device())[0]));
  const TensorMap tensors = io::load(path, Device::cpu());
  EXPECT_EQ(tensors.size(), graph.initializers().size() + 1) << "other tools read the file too";
}

TEST_P(OnDevice, draws_are_those_of_the_calls) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {5}});
  const auto noisy = [](const Tensor& input, const Device& where) {
    return input + uniform({5}, where) * normal({5}, where);
  };
  const CapturedGraph graph = scope.complete({x}, {noisy(x, recorder)});
  const Tensor zero = zeros({5}, device());
  manual_seed(11);
  const auto first = bytes_of(noisy(zero, device()));
  const auto second = bytes_of(noisy(zero, device()));
  EXPECT_NE(first, second);
  manual_seed(11);
  EXPECT_EQ(bytes_of(graph.run({zero}, device())[0]), first);
  EXPECT_EQ(bytes_of(graph.run({zero}, device())[0]), second);
}

TEST_P(OnDevice, a_graph_without_ops_gives_what_it_takes_and_holds) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kI64, {}});
  const CapturedGraph graph = scope.complete({x}, {x, from_data({1.0f, 2.0f}, {2}, recorder)});
  const test::TemporaryFolder folder;
  graph.save(folder.path() / "none");
  const CapturedGraph loaded = CapturedGraph::load(folder.path() / "none");
  const std::vector<Tensor> outputs = loaded.run({full({}, 7, device(), DType::kI64)}, device());
  EXPECT_EQ(outputs[0].item<int64_t>(), 7);
  EXPECT_EQ(outputs[1].to_vector<float>(), (std::vector<float>{1, 2}));
}

REMORA_ON_EVERY_DEVICE(OnDevice);

TEST(CapturedGraph, capture_refuses_autodiff) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  EXPECT_TRUE(refused(error_of([&] { (void)recorder.autodiff(); }),
                      absl::StatusCode::kFailedPrecondition, {"autodiff", recorder.str()}));
  const Tensor tracked = ones({2}, Device::cpu().autodiff()).require_grad();
  EXPECT_TRUE(refused(error_of([&] { (void)tracked.to(recorder); }),
                      absl::StatusCode::kFailedPrecondition, {"tracked", recorder.str()}));
  const Tensor x = scope.input({DType::kF32, {2}});
  EXPECT_TRUE(refused(error_of([&] { (void)(x + tracked); }), absl::StatusCode::kFailedPrecondition,
                      {"tracked", recorder.str()}));
  EXPECT_TRUE(refused(error_of([&] { (void)(tracked + x); }), absl::StatusCode::kFailedPrecondition,
                      {recorder.str(), "cpu"}));
  const Tensor enabled = Tensor::from_inner(x, AutodiffContext{true, Checkpointing::kDisabled});
  EXPECT_TRUE(refused(error_of([&] { (void)enabled.require_grad(); }),
                      absl::StatusCode::kFailedPrecondition, {"require_grad", recorder.str()}));
  EXPECT_TRUE(refused(error_of([&] { sum(x).backward(); }), absl::StatusCode::kFailedPrecondition,
                      {"backward"}));
  const auto guard = no_grad();
  const Tensor result = x + tracked;
  EXPECT_FALSE(result.device().has_autodiff());
  EXPECT_EQ(scope.complete({x}, {result}).initializers().size(), 1u);
}

TEST(CapturedGraph, a_tracked_model_that_stays_where_it_is_gives_its_parameters_under_no_grad) {
  nn::Sequential model = classifier();
  model.to(Device::cpu().autodiff());
  model.eval();
  const auto guard = no_grad();
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {4, 1, 8, 8}});
  const CapturedGraph graph = scope.complete({x}, {model(x)});
  const Tensor pixels = images(Device::cpu());
  EXPECT_EQ(bytes_of(graph.run({pixels}, Device::cpu())[0]), bytes_of(model(pixels)));
}

TEST(CapturedGraph, capture_refuses_reads) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  const auto refuses = [&](const std::function<void()>& call) {
    return refused(error_of(call), absl::StatusCode::kFailedPrecondition,
                   {recorder.str(), "computes nothing"});
  };
  EXPECT_TRUE(refuses([&] { (void)sum(x).item<float>(); }));
  EXPECT_TRUE(refuses([&] { (void)x.to_vector<float>(); }));
  EXPECT_TRUE(refuses([&] { (void)x.str(); }));
  EXPECT_TRUE(refuses([&] { (void)nonzero(x); }));
  EXPECT_TRUE(refuses([&] { (void)masked_select(x, x > 0.0); }));
  EXPECT_TRUE(refuses([&] { (void)read_all({x}); }));
  EXPECT_TRUE(refuses([&] { (void)x.to(Device::cpu()); }));
}

TEST(CapturedGraph, a_scope_ends_with_its_block_and_its_completion) {
  const Device recorder = Device::capture();
  EXPECT_THROW(
      {
        Scope scope(recorder);
        (void)scope.complete({}, {});
      },
      Error);
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  (void)scope.complete({x}, {-x});
  EXPECT_TRUE(refused(error_of([&] {
                        scope.input({DType::kF32, {2}});
                      }),
                      absl::StatusCode::kFailedPrecondition, {"input", "is complete"}));
  EXPECT_TRUE(refused(error_of([&] { (void)scope.complete({x}, {x}); }),
                      absl::StatusCode::kFailedPrecondition, {"complete"}));
  Scope next(recorder);
  EXPECT_TRUE(refused(error_of([&] { (void)-x; }), absl::StatusCode::kFailedPrecondition,
                      {"neg", "closed"}));
}

TEST(CapturedGraph, a_run_names_the_input_that_does_not_fit) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  const CapturedGraph graph = scope.complete({x}, {-x});
  const Device cpu = Device::cpu();
  const auto refuses = [&](const std::function<void()>& call, absl::StatusCode code,
                           const std::vector<std::string>& parts) {
    return refused(error_of(call), code, parts);
  };
  EXPECT_TRUE(refuses([&] { (void)graph.run({}, cpu); }, absl::StatusCode::kInvalidArgument,
                      {"run", "0 inputs", "has 1"}));
  EXPECT_TRUE(refuses([&] { (void)graph.run({ones({3}, cpu)}, cpu); },
                      absl::StatusCode::kInvalidArgument, {"input 0", "f32[3]", "f32[2]"}));
  const Tensor tracked = ones({2}, cpu.autodiff()).require_grad();
  EXPECT_TRUE(refuses([&] { (void)graph.run({tracked}, cpu); },
                      absl::StatusCode::kFailedPrecondition, {"input 0", "tracked"}));
  const auto guard = no_grad();
  EXPECT_FALSE(graph.run({tracked}, cpu)[0].requires_grad());
}

TEST(CapturedGraph, an_unloaded_graph_runs_again) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  const CapturedGraph graph = scope.complete({x}, {x + from_data({1.0f, 2.0f}, {2}, recorder)});
  const Device cpu = Device::cpu();
  const Tensor one = ones({2}, cpu);
  EXPECT_EQ(graph.run({one}, cpu)[0].to_vector<float>(), (std::vector<float>{2, 3}));
  graph.unload(cpu);
  EXPECT_EQ(graph.run({one}, cpu)[0].to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(CapturedGraph, a_listing_names_every_op_with_shapes_types_and_attributes) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2, 3}});
  const Tensor weights = ones({3, 1}, Device::cpu()).to(recorder);
  const CapturedGraph graph = scope.complete({x}, {sum(matmul(x, weights), 1), x * 2.5});
  const std::string text = graph.str();
  EXPECT_THAT(text, HasSubstr("1 inputs, 1 initializers"));
  EXPECT_THAT(text, HasSubstr("in0 : f32[2, 3]\nw0 : f32[3, 1]\n"));
  EXPECT_THAT(text, HasSubstr("matmul(in0, w0"));
  EXPECT_THAT(text, HasSubstr("sum(%0; axes=[1] keepdims=false) : f32[2]"));
  EXPECT_THAT(text, HasSubstr("value=2.5")) << "params of the capture are shown";
  EXPECT_THAT(text, HasSubstr("return %1, %3\n"));
  std::ostringstream streamed;
  streamed << graph;
  EXPECT_EQ(streamed.str(), text);
}

TEST(CapturedGraph, dot_draws_every_op_and_edge) {
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  const CapturedGraph graph = scope.complete({x}, {sum(x, 0) + from_data({1.0f}, {}, recorder)});
  const std::string text = graph.dot();
  EXPECT_THAT(text, testing::StartsWith("digraph captured_graph {\n"));
  EXPECT_THAT(text, HasSubstr("  in0 [shape=invhouse, label=\"input 0\\nf32[2]\"];\n"));
  EXPECT_THAT(text, HasSubstr("label=\"sum\\naxes=[0] keepdims=false\"];\n"));
  EXPECT_THAT(text, HasSubstr("  in0 -> op0 [label=\"f32[2]\"];\n"));
  EXPECT_THAT(text, HasSubstr("  w0 -> op1 "));
  EXPECT_THAT(text, HasSubstr("  op1 -> out0;\n}\n"));
}

}  // namespace
}  // namespace remora::capture

#endif  // REMORA_CPU
