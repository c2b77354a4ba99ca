// Regression with a small network: learns sin(x) on [-pi, pi] and prints what it learnt beside the
// truth. Runs on the default device (REMORA_DEVICE).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <vector>

#include "remora/remora.h"

namespace remora::regression {
namespace {

constexpr int kSteps = 1500;
constexpr int64_t kBatch = 128;
constexpr int64_t kHidden = 64;
constexpr double kWantedError = 0.05;

/// One hidden pair of layers with tanh between: how a program writes a module of its own.
class Network : public nn::Module {
 public:
  Network() {
    add_module("in", in_);
    add_module("middle", middle_);
    add_module("out", out_);
  }
  Tensor forward(const Tensor& x) const override {
    return (*out_)(tanh((*middle_)(tanh((*in_)(x)))));
  }

 private:
  const std::shared_ptr<nn::Linear> in_ = std::make_shared<nn::Linear>(1, kHidden);
  const std::shared_ptr<nn::Linear> middle_ = std::make_shared<nn::Linear>(kHidden, kHidden);
  const std::shared_ptr<nn::Linear> out_ = std::make_shared<nn::Linear>(kHidden, 1);
};

int run() {
  const Device device = Device::default_device().autodiff();
  manual_seed(1);
  Network network;
  network.to(device);
  optim::AdamW optimizer(network.parameters(), {.learning_rate = 3e-3, .weight_decay = 0.0});
  for (int step = 0; step < kSteps; ++step) {
    // The batch is drawn on the device: nothing travels but the operations.
    const Tensor x = uniform({kBatch, 1}, device, -std::numbers::pi, std::numbers::pi);
    mse_loss(network(x), sin(x)).backward();
    optimizer.step();
    optimizer.zero_grad();
  }

  const NoGrad no_grad;
  std::vector<float> points;
  for (int i = -3; i <= 3; ++i) points.push_back(static_cast<float>(i));
  const Tensor x = from_data(points, {static_cast<int64_t>(points.size()), 1}, device);
  const std::vector<float> learnt = network(x).to_vector<float>();
  double worst = 0.0;
  std::printf("%8s %10s %10s\n", "x", "sin(x)", "learnt");
  for (size_t i = 0; i < points.size(); ++i) {
    const double truth = std::sin(points[i]);
    std::printf("%8.1f %10.4f %10.4f\n", static_cast<double>(points[i]), truth,
                static_cast<double>(learnt[i]));
    worst = std::max(worst, std::abs(truth - static_cast<double>(learnt[i])));
  }
  std::printf("largest error %.4f on %s\n", worst, device.str().c_str());
  return worst < kWantedError ? 0 : 1;
}

}  // namespace
}  // namespace remora::regression

int main() {
  try {
    return remora::regression::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "regression: %s\n", error.what());
    return 1;
  }
}
