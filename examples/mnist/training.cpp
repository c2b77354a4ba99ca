#include "examples/mnist/training.h"

#include <chrono>

#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "examples/mnist/mnist_data.h"
#include "examples/mnist/model.h"
#include "remora/remora.h"

namespace remora::mnist {

namespace {

constexpr uint64_t kSeed = 1;
constexpr double kLargestRate = 4e-3;
constexpr int64_t kTestBatch = 500;

double test_accuracy(nn::Module& model, const data::ResidentDataset& test) {
  const NoGrad guard;
  model.eval();
  data::ResidentLoader loader(test, {.batch_size = kTestBatch});
  std::vector<Tensor> correct;
  for (const auto& [images, labels] : loader) {
    correct.push_back(sum(argmax(model(normalized(images)), 1) == labels));
  }
  model.train();
  double total = 0;
  for (const ReadFuture& count : read_all(correct)) total += count.item<double>();
  return total / static_cast<double>(test.size());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

SteadyState difference(const dispatch::DeviceStats& before, const dispatch::DeviceStats& after) {
  const auto spent = [](uint64_t now, uint64_t then) { return static_cast<double>(now - then); };
  SteadyState steady;
  steady.wire_bytes = spent(after.wire.bytes_sent, before.wire.bytes_sent) +
                      spent(after.wire.bytes_received, before.wire.bytes_received);
  steady.frames = spent(after.wire.frames_sent, before.wire.frames_sent);
  steady.round_trips = spent(after.wire.round_trips, before.wire.round_trips);
  steady.plan_hits = spent(after.plan_hits, before.plan_hits);
  steady.plan_misses = spent(after.plan_misses, before.plan_misses);
  return steady;
}

/// One epoch; appends the losses.
SteadyState run_epoch(const nn::Sequential& model, optim::Optimizer& optimizer,
                      optim::Scheduler& schedule, data::ResidentLoader& loader,
                      const Device& device, std::vector<float>& losses) {
  device.synchronize();
  const auto start = std::chrono::steady_clock::now();
  const dispatch::DeviceStats before = device.state().stats();
  std::vector<ReadFuture> reads;
  for (const auto& [images, labels] : loader) {
    const Tensor loss = cross_entropy(model(normalized(images)), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    schedule.step();
    reads.push_back(loss.read_async());
  }
  for (const ReadFuture& read : reads) losses.push_back(read.item<float>());
  SteadyState steady = difference(before, device.state().stats());
  steady.steps = static_cast<double>(loader.batches());
  steady.seconds = seconds_since(start);
  return steady;
}

}  // namespace

TrainingResult train(const Device& device, const TrainingOptions& options,
                     const Progress& progress) {
  manual_seed(kSeed);
  const MnistData data = load_mnist(options.data, device, options.limit);
  nn::Sequential model = make_model();
  model.to(device.autodiff());
  optim::AdamW optimizer(model.parameters());
  data::ResidentLoader loader(
      data.train, {.batch_size = options.batch, .shuffle = true, .seed = kSeed, .drop_last = true});
  if (loader.batches() == 0) {
    throw Error(absl::InvalidArgumentError(
        str_cat(data.train.size(), " images do not fill a batch of ", options.batch)));
  }
  optim::OneCycleLR schedule(optimizer, kLargestRate, options.epochs * loader.batches());
  TrainingResult result{device, device.info().fingerprint, {}, {}, 0, {}};
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    result.steady = run_epoch(model, optimizer, schedule, loader, device, result.losses);
    result.accuracies.push_back(test_accuracy(model, data.test));
    progress(epoch, options.epochs, result.losses.back(), result.accuracies.back());
  }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace remora::mnist
