// Training the model on one device, and what it cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "dispatch/device.h"

namespace remora::mnist {

struct TrainingOptions {
  std::filesystem::path data;
  int epochs = 3;
  int64_t batch = 64;
  int64_t limit = 0;  // images of each set; 0 for all
};

/// What the last epoch took, its beginning included: every plan is known by then.
struct SteadyState {
  double steps = 0;
  double seconds = 0;
  double wire_bytes = 0;  // serialized messages, both directions
  double frames = 0;      // sent
  double round_trips = 0;
  double plan_hits = 0;
  double plan_misses = 0;
};

struct TrainingResult {
  Device device;
  std::string fingerprint;
  std::vector<float> losses;       // of every step
  std::vector<double> accuracies;  // on the test set after each epoch, in [0, 1]
  double seconds = 0;              // of the epochs, evaluation included
  SteadyState steady;
};

/// Called after each epoch with its number, how many there are, the last loss and the accuracy.
using Progress = std::function<void(int epoch, int epochs, float loss, double accuracy)>;

/// Trains the same model from the same seed wherever it runs.
TrainingResult train(const Device& device, const TrainingOptions& options,
                     const Progress& progress);

}  // namespace remora::mnist
