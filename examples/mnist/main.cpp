// Trains a CNN on MNIST where REMORA_DEVICE says, with the data set resident there, and prints what
// it reached and what it cost; with --compare also on this machine's CPU, to compare bit for bit.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "examples/mnist/table.h"
#include "examples/mnist/training.h"
#include "remora/remora.h"

namespace remora::mnist {
namespace {

/// A line on stderr for each epoch; silent unless stderr is a terminal.
Progress show_progress(const std::string& device) {
  return [device](int epoch, int epochs, float loss, double accuracy) {
    if (isatty(STDERR_FILENO) == 0) return;
    std::fprintf(stderr, "%s: epoch %d of %d, loss %.4f, test accuracy %.2f %%\n", device.c_str(),
                 epoch, epochs, static_cast<double>(loss), 100 * accuracy);
  };
}

/// 0; 1 if the losses differ where they must not, or the accuracy is below what was asked for.
int run(const TrainingOptions& options, bool compare, double wanted_percent) {
  std::vector<TrainingResult> results;
  const Device device = Device::default_device();
  results.push_back(train(device, options, show_progress(device.str())));
  if (compare) {
    const Device local = Device::cpu();
    results.push_back(train(local, options, show_progress(local.str())));
  }
  std::fputs(format_table(results).c_str(), stdout);
  int code = 0;
  if (compare && compare_losses(results[0], results[1]) == Agreement::kNo) {
    std::fputs("mnist: the losses differ though the devices' fingerprints are equal\n", stderr);
    code = 1;
  }
  const double reached_percent = 100.0 * results[0].accuracies.back();
  if (reached_percent < wanted_percent) {
    std::fprintf(stderr, "mnist: reached %.2f %%, less than the %.2f %% wanted\n", reached_percent,
                 wanted_percent);
    code = 1;
  }
  return code;
}

}  // namespace
}  // namespace remora::mnist

int main(int argc, char** argv) {
  remora::mnist::TrainingOptions options;
  bool compare = false;
  double wanted_percent = 0;
  CLI::App app("Trains a CNN on MNIST on the device that REMORA_DEVICE names.");
  app.add_option("--data", options.data, "folder of MNIST's four IDX files, .gz or not")
      ->required();
  app.add_option("--epochs", options.epochs, "passes over the training set")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "images of a step")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--limit", options.limit, "images of each set to keep; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--min-accuracy", wanted_percent, "exit code 1 below this test accuracy, in %")
      ->capture_default_str();
  app.add_flag("--compare", compare, "train on this machine's CPU too and compare every loss");
  CLI11_PARSE(app, argc, argv);
  try {
    return remora::mnist::run(options, compare, wanted_percent);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mnist: %s\n", error.what());
    return 1;
  }
}
