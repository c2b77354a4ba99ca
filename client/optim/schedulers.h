// Schedulers: learning rates as functions of how often `step()` was called, once an epoch or once a
// training step. Each is a closed form of the group's initial rate, so that it can be taken up at
// any count, and a rate that changes never changes a plan. One scheduler drives one optimizer and
// must not outlive it; schedules follow each other through SequentialLR. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/optim/optimizer.h"

namespace remora::optim {

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;

  /// Counts on and sets the rates of what follows.
  void step() { go_to(count_ + 1); }
  /// Calls of `step()` so far.
  int64_t count() const { return count_; }
  /// What this scheduler set last.
  double last_learning_rate(size_t group = 0) const { return optimizer_.learning_rate(group); }

  std::vector<std::pair<std::string, double>> state_dict() const;
  /// Sets the rates of the count it stood at. INVALID_ARGUMENT for a state that is none.
  void load_state_dict(const std::vector<std::pair<std::string, double>>& state);

 protected:
  explicit Scheduler(Optimizer& optimizer);
  /// Sets the first rates: to be called when the constructor is done.
  void start() { go_to(0); }
  Optimizer& optimizer() const { return optimizer_; }

 private:
  friend class SequentialLR;
  void go_to(int64_t count);
  /// Sets every group's rate at a count: by default, `rate`.
  virtual void set_rates(int64_t count) const;
  /// A group's rate at a count, given its initial rate.
  virtual double rate(double initial, size_t group, int64_t count) const;

  Optimizer& optimizer_;
  int64_t count_ = 0;
};

/// Times `gamma` every `step_size` steps.
class StepLR : public Scheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 private:
  double rate(double initial, size_t group, int64_t count) const override;
  const int64_t step_size_;
  const double gamma_;
};

/// Times `gamma` at each milestone, a count of steps; one that is listed twice counts twice.
class MultiStepLR : public Scheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 private:
  double rate(double initial, size_t group, int64_t count) const override;
  std::vector<int64_t> milestones_;  // ascending
  const double gamma_;
};

/// Times `gamma` every step.
class ExponentialLR : public Scheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  double rate(double initial, size_t group, int64_t count) const override;
  const double gamma_;
};

/// Half a cosine from the initial rate to `lowest` in `half_period` steps, and back
/// (Loshchilov and Hutter, "SGDR", 2017, without restarts).
class CosineAnnealingLR : public Scheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t half_period, double lowest = 0.0);

 private:
  double rate(double initial, size_t group, int64_t count) const override;
  const int64_t half_period_;
  const double lowest_;
};

/// A factor that goes from `start_factor` to `end_factor` in `steps` steps and stays there.
class LinearLR : public Scheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3.0, double end_factor = 1.0,
                    int64_t steps = 5);

 private:
  double rate(double initial, size_t group, int64_t count) const override;
  const double start_factor_;
  const double end_factor_;
  const int64_t steps_;
};

/// A factor that is any function of the count; one for all groups or one for each.
class LambdaLR : public Scheduler {
 public:
  using Factor = std::function<double(int64_t count)>;
  LambdaLR(Optimizer& optimizer, const Factor& factor);
  LambdaLR(Optimizer& optimizer, std::vector<Factor> factors);

 private:
  double rate(double initial, size_t group, int64_t count) const override;
  std::vector<Factor> factors_;
};

struct OneCycleOptions {
  double warm_up = 0.3;  // part of the steps that the rate rises
  enum class Anneal : uint8_t { kCosine, kLinear } anneal = Anneal::kCosine;
  bool cycle_momentum = true;  // the momentum (or first beta) moves the other way
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25.0;       // the first rate is the largest / div_factor
  double final_div_factor = 1e4;  // the last is the first / final_div_factor
  bool three_phases = false;      // falls to the first rate as fast as it rose, then on
};

/// One rise to `max_learning_rate` and one fall over `total_steps` steps (Smith and Topin,
/// "Super-Convergence", 2018), as PyTorch's. More steps are FAILED_PRECONDITION.
class OneCycleLR : public Scheduler {
 public:
  OneCycleLR(Optimizer& optimizer, double max_learning_rate, int64_t total_steps,
             const OneCycleOptions& options = {});

 private:
  struct Phase {
    double end;  // a count
    double first_rate, last_rate;
    double first_momentum, last_momentum;
  };
  void set_rates(int64_t count) const override;
  double annealed(double first, double last, double part) const;

  const int64_t total_steps_;
  const OneCycleOptions options_;
  const double max_rate_;
  std::vector<Phase> phases_;
};

/// One schedule after the other: the next begins, at its own count 0, when the count reaches its
/// milestone. A warm-up is LinearLR before anything. All drive the same optimizer.
class SequentialLR : public Scheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<Scheduler>> schedulers,
               std::vector<int64_t> milestones);

 private:
  void set_rates(int64_t count) const override;
  std::vector<std::shared_ptr<Scheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

}  // namespace remora::optim
