#include "examples/digits/training.h"

#include <chrono>

#include "dispatch/device_state.h"
#include "remora/remora.h"

namespace remora::digits {

namespace {

constexpr int kEpochs = 20;
constexpr int64_t kBatch = 32;
constexpr uint64_t kSeed = 42;

nn::Sequential make_model() {
  return nn::Sequential(
      nn::Conv2d(1, 16, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),   // 8 x 8 -> 4 x 4
      nn::Conv2d(16, 32, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),  // -> 2 x 2
      nn::Flatten(), nn::Linear(128, 64), nn::ReLU(), nn::Linear(64, 10));
}

double test_accuracy(const nn::Module& model, const data::TensorDataset& test,
                     const Device& device) {
  const NoGrad guard;
  data::DataLoader loader(test, {.batch_size = test.size()}, device);
  double correct = 0;
  for (const auto& [images, labels] : loader) {
    correct += sum(argmax(model(images), 1) == labels).item<double>();
  }
  return correct / static_cast<double>(test.size());
}

/// Measures a stretch of steps by the device's counters.
class Stopwatch {
 public:
  explicit Stopwatch(dispatch::DeviceState& state)
      : state_(state), before_(state.stats()), start_(std::chrono::steady_clock::now()) {}

  SteadyState stop(size_t steps) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const dispatch::DeviceStats after = state_.stats();
    const auto difference = [](uint64_t now, uint64_t then) {
      return static_cast<double>(now - then);
    };
    SteadyState steady;
    steady.steps = static_cast<double>(steps);
    steady.seconds = elapsed.count();
    steady.wire_bytes = difference(after.wire.bytes_sent, before_.wire.bytes_sent) +
                        difference(after.wire.bytes_received, before_.wire.bytes_received);
    steady.frames = difference(after.wire.frames_sent, before_.wire.frames_sent);
    steady.reads = static_cast<double>(steps);
    steady.windows = difference(after.windows, before_.windows);
    steady.round_trips = difference(after.wire.round_trips, before_.wire.round_trips);
    steady.plan_hits = difference(after.plan_hits, before_.plan_hits);
    steady.plan_misses = difference(after.plan_misses, before_.plan_misses);
    return steady;
  }

 private:
  dispatch::DeviceState& state_;
  const dispatch::DeviceStats before_;
  const std::chrono::steady_clock::time_point start_;
};

/// The training run of one model; keeps the losses that are still on their way.
class Run {
 public:
  Run(const Device& device, const DigitsData& data)
      : model_(make_model()),
        loader_(data.train, {.batch_size = kBatch, .shuffle = true, .seed = kSeed}, device) {
    model_.to(device);
    optimizer_.emplace(model_.parameters(), optim::AdamWOptions{.learning_rate = 2e-3});
  }

  void epoch() {
    for (const auto& [images, labels] : loader_) step(images, labels);
    collect();
  }

  /// An epoch whose full batches are measured; the last, partial one comes after.
  SteadyState measured_epoch(dispatch::DeviceState& state) {
    const Stopwatch stopwatch(state);
    SteadyState steady;
    size_t steps = 0;
    for (const auto& [images, labels] : loader_) {
      if (images.size(0) < kBatch) {
        collect();
        steady = stopwatch.stop(steps);
      }
      step(images, labels);
      ++steps;
    }
    collect();
    return steady.steps > 0 ? steady : stopwatch.stop(steps);
  }

  const nn::Module& model() const { return model_; }
  std::vector<float>& losses() { return losses_; }

 private:
  void step(const Tensor& images, const Tensor& labels) {
    const Tensor loss = cross_entropy(model_(images), labels);
    loss.backward();
    optimizer_->step();
    optimizer_->zero_grad();
    reads_.push_back(loss.read_async());
  }

  void collect() {
    for (const ReadFuture& read : reads_) losses_.push_back(read.item<float>());
    reads_.clear();
  }

  nn::Sequential model_;
  data::DataLoader loader_;
  std::optional<optim::AdamW> optimizer_;
  std::vector<ReadFuture> reads_;
  std::vector<float> losses_;
};

}  // namespace

TrainingResult train(const Device& device, const DigitsData& data, const Progress& progress) {
  manual_seed(kSeed);
  dispatch::DeviceState& state = device.state();
  Run run(device.autodiff(), data);
  TrainingResult result{device, state.backend().info().fingerprint, {}, 0, {}};
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    if (epoch < kEpochs) {
      run.epoch();
    } else {
      result.steady = run.measured_epoch(state);
    }
    progress(epoch, kEpochs, run.losses().back());
  }
  result.accuracy = test_accuracy(run.model(), data.test, device);
  result.losses = std::move(run.losses());
  return result;
}

}  // namespace remora::digits
