// A program against the installed library: adds two tensors on each device that it is given and
// trains one step there.
#include <cstdio>
#include <exception>

#include <remora/remora.h>

#include "client/tensor.h"

namespace {

bool adds_and_trains(const remora::Device& plain) {
  using namespace remora;
  const Device device = plain.autodiff();
  const Tensor sum = from_data({1.0F, 2.0F}, {2}, device) + from_data({10.0F, 20.0F}, {2}, device);
  if (sum.to_vector<float>() != std::vector<float>{11.0F, 22.0F}) return false;

  nn::Linear model(2, 1);
  model.to(device);
  optim::SGD optimizer(model.parameters(), {.learning_rate = 0.1});
  const Tensor x = from_data({1.0F, 2.0F}, {1, 2}, device);
  const Tensor y = from_data({3.0F}, {1, 1}, device);
  const Tensor before = mse_loss(model(x), y);
  before.backward();
  optimizer.step();
  return mse_loss(model(x), y).item<float>() < before.item<float>();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::printf("%s\n", consumer::greeting().c_str());
    for (int i = 1; i < argc; ++i) {
      if (!adds_and_trains(remora::Device::parse(argv[i]))) {
        std::fprintf(stderr, "consumer: wrong results on %s\n", argv[i]);
        return 1;
      }
      std::printf("%s: right\n", argv[i]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
  }
  return argc > 1 ? 0 : 2;
}
