// One model over two workers: the first layer lives on one, the second on the other, and the
// gradient crosses back. The same training on one device gives the same losses, bit for bit, if the
// devices' fingerprints are equal. `two_workers` starts two workers of its own; `two_workers
// DEVICE DEVICE` uses those (credentials: REMORA_TOKEN_FILE).
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "client/remote/private_worker.h"
#include "remora/remora.h"

namespace remora::two_workers {
namespace {

constexpr int kSteps = 200;
constexpr int64_t kBatch = 64;
constexpr int64_t kInputs = 16;
constexpr int64_t kHidden = 32;
constexpr int64_t kClasses = 4;
constexpr uint64_t kSeed = 7;

/// Trains with the layers on `first` and `second`; what each step's loss was.
std::vector<float> train(const Device& first, const Device& second) {
  manual_seed(kSeed);
  nn::Linear in(kInputs, kHidden);
  in.to(first.autodiff());
  nn::Linear out(kHidden, kClasses);
  out.to(first.autodiff());  // drawn where the first layer is, so that both trainings start alike
  out.to(second.autodiff());
  std::vector<nn::Parameter> parameters = in.parameters();
  for (const nn::Parameter& parameter : out.parameters()) parameters.push_back(parameter);
  optim::SGD optimizer(parameters, {.learning_rate = 0.1});

  const Tensor inputs = uniform({kBatch, kInputs}, first, -1.0, 1.0);
  const Tensor labels = argmax(inputs.slice(1, 0, kClasses), 1).to(second);
  std::vector<ReadFuture> losses;
  for (int step = 0; step < kSteps; ++step) {
    const Tensor hidden = relu(in(inputs)).to(second);
    const Tensor loss = cross_entropy(out(hidden), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    losses.push_back(loss.read_async());  // nothing waits
  }
  std::vector<float> values;
  values.reserve(losses.size());
  for (ReadFuture& loss : losses) values.push_back(loss.item<float>());
  return values;
}

int run(int argc, char** argv) {
  if (argc != 1 && argc != 3) {
    std::fputs("usage: two_workers [DEVICE DEVICE]\n", stderr);
    return 2;
  }
  std::vector<std::unique_ptr<remote::PrivateWorker>> workers;
  std::vector<Device> devices;
  for (int i = 0; i < 2; ++i) {
    if (argc == 3) {
      devices.push_back(Device::parse(argv[i + 1]));
      continue;
    }
    workers.push_back(value_or_throw(remote::PrivateWorker::start({})));
    devices.push_back(Device::remote(workers.back()->address()));
  }
  const std::vector<float> split = train(devices[0], devices[1]);
  const std::vector<float> whole = train(devices[0], devices[0]);
  const bool same_bits = std::ranges::equal(split, whole, [](float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  });
  std::printf("%s and %s: loss %.4f, then %.4f\n", devices[0].str().c_str(),
              devices[1].str().c_str(), static_cast<double>(split.front()),
              static_cast<double>(split.back()));
  std::printf("bit-identical to %s alone: %s\n", devices[0].str().c_str(),
              same_bits ? "yes" : "no");
  return split.back() < split.front() / 2 ? 0 : 1;
}

}  // namespace
}  // namespace remora::two_workers

int main(int argc, char** argv) {
  try {
    return remora::two_workers::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "two_workers: %s\n", error.what());
    return 1;
  }
}
