#include "dispatch/device_state.h"

#include "dispatch/limits.h"
#include "dispatch/submit.h"

namespace remora::dispatch {

DeviceState::DeviceState(Device device, std::unique_ptr<Backend> backend)
    : device_(device.without_autodiff()),
      backend_(std::move(backend)),
      plans_(*backend_, kMaxPlans),
      executor_(*backend_, plans_),
      queue_(executor_.add_queue()),
      seen_sequences_(kSeenSequences),
      generator_{initial_seed(), 0} {}

DeviceState::~DeviceState() = default;

DeviceStats DeviceState::stats() const {
  DeviceStats stats;
  stats.windows = windows_.load(std::memory_order_relaxed);
  stats.ops = ops_.load(std::memory_order_relaxed);
  stats.plan_hits = plans_.hits();
  stats.plan_misses = plans_.misses();
  stats.moved_operands = moved_operands_.load(std::memory_order_relaxed);
  stats.wire = backend_->wire_stats();
  return stats;
}

}  // namespace remora::dispatch
