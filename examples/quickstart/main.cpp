// The README's program: fits a line on the default device, whatever that is. Run it with
// REMORA_DEVICE=remote://host:7070/cpu to run it on a worker.
#include <iostream>
#include <vector>

#include "remora/remora.h"

using namespace remora;  // NOLINT(google-build-using-namespace): what a first program would write

int main() {
  try {
    const Device device = Device::default_device().autodiff();
    manual_seed(0);
    const Tensor x = uniform({256, 3}, device);
    const Tensor y = matmul(x, from_data({1.0f, -2.0f, 0.5f}, {3, 1}, device)) + 0.25;
    nn::Linear model(3, 1);
    model.to(device);
    optim::SGD optimizer(model.parameters(), {.learning_rate = 0.5});
    float last_loss = 0.0f;
    for (int step = 0; step <= 200; ++step) {
      const Tensor loss = mse_loss(model(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      if (step % 50 != 0) continue;
      last_loss = loss.item<float>();
      std::cout << step << ": " << last_loss << "\n";
    }
    const std::vector<float> weights = model.parameters()[0].tensor().to_vector<float>();
    std::cout << "weights " << weights[0] << " " << weights[1] << " " << weights[2] << " on "
              << device.str() << "\n";
    return last_loss < 1e-4f ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "quickstart: " << error.what() << "\n";
    return 1;
  }
}
