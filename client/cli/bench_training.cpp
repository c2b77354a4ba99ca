#include "client/cli/bench_training.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/exit_codes.h"
#include "client/cli/figures.h"
#include "client/nn/attention.h"
#include "client/nn/layers.h"
#include "client/nn/normalization.h"
#include "client/ops.h"
#include "client/optim/sgd.h"
#include "dispatch/backend.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Steps until windows and plans repeat, and steps measured after those.
constexpr int kWarmUpSteps = 3;
constexpr int kMeasuredSteps = 2;
constexpr double kMiB = 1024.0 * 1024.0;

/// Normalised first, attention without weights in memory, a feed-forward four times as wide.
class Block : public nn::Module {
 public:
  explicit Block(const BenchTrainingOptions& options)
      : dropout_(options.dropout),
        norm1_(add_module_of("norm1", nn::LayerNorm({options.width}))),
        attention_(add_module_of("attention", nn::MultiheadAttention(options.width, options.heads,
                                                                     {.batch_first = true}))),
        norm2_(add_module_of("norm2", nn::LayerNorm({options.width}))),
        wide_(add_module_of("wide", nn::Linear(options.width, 4 * options.width))),
        narrow_(add_module_of("narrow", nn::Linear(4 * options.width, options.width))) {}

  Tensor forward(const Tensor& x) const override {
    const Tensor normal = (*norm1_)(x);
    const Tensor y = x + dropout(attention_->attend(normal, normal, normal), dropout_);
    const Tensor active = dropout(gelu((*wide_)((*norm2_)(y))), dropout_);
    return y + dropout((*narrow_)(active), dropout_);
  }

 private:
  double dropout_;
  std::shared_ptr<nn::LayerNorm> norm1_;
  std::shared_ptr<nn::MultiheadAttention> attention_;
  std::shared_ptr<nn::LayerNorm> norm2_;
  std::shared_ptr<nn::Linear> wide_, narrow_;
};

double user_ms() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec) * 1e3 +
         static_cast<double>(use.ru_utime.tv_usec) / 1e3;
}

struct Sample {
  double step_ms = 0.0;
  double step_user_ms = 0.0;
  double peak_MiB = 0.0;
  double first_peak_MiB = 0.0;  // of the first step, whose windows are cut
  std::vector<float> losses;
};

Sample train(const BenchTrainingOptions& options, const Device& device) {
  manual_seed(1);
  nn::ModuleList model;
  for (int64_t i = 0; i < options.layers; ++i) model.append(Block(options));
  model.to(device);
  optim::SGD optimizer(model.parameters(), {.learning_rate = 1e-3});
  const Shape shape = {options.batch, options.length, options.width};
  const Tensor input = normal(shape, device);
  const Tensor target = normal(shape, device);
  device.synchronize();
  device.trim();

  Sample sample;
  Clock::time_point begin;
  for (int step = 0; step < kWarmUpSteps + kMeasuredSteps; ++step) {
    if (step == 0 || step == kWarmUpSteps) device.reset_peak_memory();
    if (step == kWarmUpSteps) {
      begin = Clock::now();
      sample.step_user_ms = user_ms();
    }
    Tensor x = input;
    for (const auto& block : model) x = (*block)(x);
    const Tensor loss = mse_loss(x, target);
    x = Tensor();
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    sample.losses.push_back(loss.item<float>());
    if (step == 0) sample.first_peak_MiB = static_cast<double>(device.memory().peak_bytes) / kMiB;
  }
  device.synchronize();
  sample.step_ms = microseconds_since(begin) / 1e3 / kMeasuredSteps;
  sample.step_user_ms = (user_ms() - sample.step_user_ms) / kMeasuredSteps;
  sample.peak_MiB = static_cast<double>(device.memory().peak_bytes) / kMiB;
  return sample;
}

void add(Figures& figures, const std::string& name, const Sample& sample) {
  figures.add(name + "_step_ms", sample.step_ms);
  figures.add(name + "_step_user_ms", sample.step_user_ms);
  figures.add(name + "_peak_MiB", sample.peak_MiB);
  figures.add(name + "_first_peak_MiB", sample.first_peak_MiB);
}

}  // namespace

int bench_training(const BenchTrainingOptions& options) {
  const Device plain = Device::cpu().autodiff();
  const Device balanced = plain.gradient_checkpointing();
  Figures figures;
  for (int round = 0; round < options.rounds; ++round) {
    const Sample kept = train(options, plain);
    const Sample recomputed = train(options, balanced);
    if (kept.losses != recomputed.losses) {
      throw Error(absl::DataLossError("bench training: checkpointing has changed the losses"));
    }
    add(figures, "plain", kept);
    add(figures, "checkpointed", recomputed);
    figures.add("memory_ratio", kept.peak_MiB / recomputed.peak_MiB);
    figures.add("time_ratio", recomputed.step_ms / kept.step_ms);
    figures.add("user_time_ratio", recomputed.step_user_ms / kept.step_user_ms);
  }
  std::printf("%s\n", options.json ? figures.json("training", plain.str()).c_str()
                                   : figures.text().c_str());
  return kOk;
}

}  // namespace remora::cli
