// ReduceLROnPlateau: lowers the learning rates when a number has stopped improving, as PyTorch's.
// Drives an optimizer that it must not outlive. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

struct PlateauOptions {
  enum class Mode : uint8_t { kMin, kMax } mode = Mode::kMin;  // what is an improvement
  double factor = 0.1;                                         // of the rates, in [0, 1)
  int64_t patience = 10;  // calls without improvement that are borne
  double threshold = 1e-4;
  enum class Threshold : uint8_t { kRelative, kAbsolute } threshold_mode = Threshold::kRelative;
  int64_t cooldown = 0;  // calls after a reduction that count nothing
  double lowest = 0.0;   // no rate falls below it
  double eps = 1e-8;     // a smaller change of a rate is left out
};

class ReduceLROnPlateau {
 public:
  /// INVALID_ARGUMENT for a factor outside [0, 1) or a negative number.
  explicit ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options = {});
  ReduceLROnPlateau(const ReduceLROnPlateau&) = delete;

  /// Looks at the number that should improve: read it from the device first.
  void step(double metric);

  std::vector<std::pair<std::string, double>> state_dict() const;
  /// INVALID_ARGUMENT for a state that is none. The rates are the optimizer's state.
  void load_state_dict(const std::vector<std::pair<std::string, double>>& state);

 private:
  bool improves(double metric) const;
  void reduce();

  Optimizer& optimizer_;
  const PlateauOptions options_;
  double best_;
  int64_t bad_ = 0;       // calls since the last improvement
  int64_t cooldown_ = 0;  // calls left
};

}  // namespace remora::optim
