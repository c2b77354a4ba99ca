// An opened device: its backend, plans, executor, random generator and the open windows of every
// thread that records on it. Owned by the registry (or by a worker's device table); lives until the
// process ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/backend.h"
#include "dispatch/cut_policy.h"
#include "dispatch/device.h"
#include "dispatch/executor.h"
#include "dispatch/philox.h"
#include "dispatch/plan_cache.h"

namespace remora::dispatch {

class Window;

/// Counters of a device since it was opened.
struct DeviceStats {
  uint64_t windows = 0;
  uint64_t ops = 0;
  uint64_t plan_hits = 0;
  uint64_t plan_misses = 0;
  uint64_t moved_operands = 0;  // automatic moves of operands to this device
  WireStats wire;
};

class DeviceState {
 public:
  DeviceState(Device device, std::unique_ptr<Backend> backend);
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;

  const Device& device() const { return device_; }
  Backend& backend() { return *backend_; }
  PlanCache& plans() { return plans_; }
  Executor& executor() { return executor_; }
  DeviceStats stats() const;
  /// The program's own queue on this device; a worker's sessions have theirs.
  const Executor::QueuePtr& queue() const { return queue_; }
  /// The settings in force, fixed by this call: whatever makes a tensor here asks first.
  const DeviceSettings& fixed_settings();
  /// The settings in force, which may still be set.
  DeviceSettings settings();
  /// True once they are fixed.
  bool settings_are_fixed() const { return settings_fixed_.load(std::memory_order_acquire); }
  /// As `set_device_settings` of a device.
  absl::Status set_settings(const DeviceSettings& settings);
  void count_move() { moved_operands_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class Window;
  friend class Recorder;
  friend class CallScope;
  friend void manual_seed(uint64_t seed);

  const Device device_;
  const std::unique_ptr<Backend> backend_;
  PlanCache plans_;
  Executor executor_;
  const Executor::QueuePtr queue_;  // the program's own
  std::atomic<uint64_t> windows_{0};
  std::atomic<uint64_t> ops_{0};
  std::atomic<uint64_t> moved_operands_{0};
  // Guarded by the process's settings mutex (device_settings.cpp) until `settings_fixed_`, which is
  // set once; then they do not change.
  std::optional<DeviceSettings> own_settings_;
  DeviceSettings settings_;
  std::atomic<bool> settings_fixed_{false};
  // Guards everything that is recorded on this device: open windows, the cut policy, the generator.
  // Taken before the executor's lock, never after it.
  absl::Mutex record_mutex_;
  SequenceSet seen_sequences_ ABSL_GUARDED_BY(record_mutex_);
  Generator generator_ ABSL_GUARDED_BY(record_mutex_);
};

}  // namespace remora::dispatch
