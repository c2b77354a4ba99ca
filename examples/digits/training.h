// Training the model on one device, and what it cost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dispatch/device.h"
#include "examples/digits/digits_data.h"

namespace remora::digits {

/// What the full batches of the last epoch took: every plan is known by then.
struct SteadyState {
  double steps = 0;
  double seconds = 0;
  double wire_bytes = 0;  // serialized messages, both directions
  double frames = 0;      // sent
  double reads = 0;       // of losses
  double windows = 0;
  double round_trips = 0;
  double plan_hits = 0;
  double plan_misses = 0;
};

struct TrainingResult {
  Device device;
  std::string fingerprint;
  std::vector<float> losses;  // of every step
  double accuracy = 0;        // on the test set, in [0, 1]
  SteadyState steady;
};

/// Called after each epoch with its number, how many there are, and the last loss.
using Progress = std::function<void(int epoch, int epochs, float loss)>;

/// Trains the same model from the same seed wherever it runs.
TrainingResult train(const Device& device, const DigitsData& data, const Progress& progress);

}  // namespace remora::digits
