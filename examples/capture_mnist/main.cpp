// Captures the inference graph of the MNIST model, keeps it in a file, and runs what the file holds
// on this machine's CPU and on a worker: one that this program starts, or the device that
// REMORA_DEVICE names. Compares the two bit for bit and counts what a call costs on the wire.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/io/output_file.h"
#include "dispatch/device_state.h"
#include "examples/mnist/model.h"
#include "remora/remora.h"
#if REMORA_REMOTE
#include "client/remote/private_worker.h"
#endif

namespace remora::capture_mnist {
namespace {

constexpr uint64_t kSeed = 42;

struct Options {
  std::filesystem::path graph = "mnist.graph";
  std::filesystem::path weights;  // of the model, by `state_dict`; without it they are drawn
  std::filesystem::path dot;
  int calls = 100;
  bool list = false;
};

capture::CapturedGraph capture_model(const Options& options) {
  nn::Sequential model = mnist::make_model();
  manual_seed(kSeed);
  model.to(Device::cpu());
  if (!options.weights.empty()) model.load_state_dict(io::load(options.weights, Device::cpu()));
  model.eval();
  const Device recorder = Device::capture();
  model.to(recorder);
  capture::Scope scope(recorder);
  const Tensor image = scope.input({DType::kU8, {1, 1, 28, 28}});
  return scope.complete({image}, {softmax(model(mnist::normalized(image)), 1)});
}

/// A made-up image, another for each number.
std::vector<uint8_t> image(int number) {
  std::vector<uint8_t> pixels(28 * 28);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(i * static_cast<size_t>(number + 3));
  }
  return pixels;
}

std::vector<float> classify(const capture::CapturedGraph& graph, int number, const Device& device) {
  return graph.run({from_data(image(number), {1, 1, 28, 28}, device)}, device)[0]
      .to_vector<float>();
}

int run(const Options& options) {
  capture_model(options).save(options.graph);
  const auto graph = capture::CapturedGraph::load(options.graph);
  std::printf("%s: %zu ops, %zu initializers, %ju bytes\n", options.graph.c_str(),
              graph.graph()->ops.size(), graph.initializers().size(),
              static_cast<uintmax_t>(std::filesystem::file_size(options.graph)));
  if (options.list) std::fputs(graph.str().c_str(), stdout);
  if (!options.dot.empty()) {
    auto file = value_or_throw(io::OutputFile::create(options.dot));
    throw_if_error(file.write(graph.dot()));
    throw_if_error(file.commit());
  }

  const char* chosen = std::getenv("REMORA_DEVICE");
  Device device = Device::cpu();
#if REMORA_REMOTE
  std::unique_ptr<remote::PrivateWorker> worker;
  if (chosen == nullptr || *chosen == '\0') {
    worker = value_or_throw(remote::PrivateWorker::start({}));
    device = Device::remote(worker->address());
  }
#endif
  if (chosen != nullptr && *chosen != '\0') device = Device::parse(chosen);

  bool same = classify(graph, 0, device) == classify(graph, 0, Device::cpu());
  const dispatch::DeviceStats before = device.state().stats();
  std::vector<std::vector<float>> answers;
  for (int call = 1; call <= options.calls; ++call)
    answers.push_back(classify(graph, call, device));
  const dispatch::DeviceStats after = device.state().stats();
  for (int call = 1; call <= options.calls; ++call) {
    same = same && answers[static_cast<size_t>(call - 1)] == classify(graph, call, Device::cpu());
  }
  const uint64_t messages = after.wire.frames_sent - before.wire.frames_sent;
  std::printf("%s: %d calls, %ju plan hits, %ju messages of %ju bytes\n", device.str().c_str(),
              options.calls, static_cast<uintmax_t>(after.plan_hits - before.plan_hits),
              static_cast<uintmax_t>(messages),
              static_cast<uintmax_t>(
                  messages == 0 ? 0 : (after.wire.bytes_sent - before.wire.bytes_sent) / messages));
  const bool comparable = device.info().fingerprint == Device::cpu().info().fingerprint;
  std::printf("bit-identical to cpu: %s\n", same         ? "yes"
                                            : comparable ? "NO"
                                                         : "no (other kernels)");
  return same || !comparable ? 0 : 1;
}

}  // namespace
}  // namespace remora::capture_mnist

int main(int argc, char** argv) {
  remora::capture_mnist::Options options;
  CLI::App app("Captures the MNIST model's inference graph and runs it here and on a worker.");
  app.add_option("--graph", options.graph, "file to keep the graph in")->capture_default_str();
  app.add_option("--weights", options.weights, "safetensors file of the model's state_dict")
      ->check(CLI::ExistingFile);
  app.add_option("--dot", options.dot, "file for the graph in Graphviz's language");
  app.add_option("--calls", options.calls, "calls to measure")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--list", options.list, "print the graph");
  CLI11_PARSE(app, argc, argv);
  try {
    return remora::capture_mnist::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "capture_mnist: %s\n", error.what());
    return 1;
  }
}
