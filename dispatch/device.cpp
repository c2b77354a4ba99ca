#include "dispatch/device.h"

#include <deque>

#include "absl/synchronization/mutex.h"
#include "dispatch/device_filter.h"
#include "dispatch/device_state.h"
#include "dispatch/device_text.h"
#include "dispatch/fork_guard.h"
#include "dispatch/limits.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"
#include "dispatch/window.h"

namespace remora {
namespace {

int checked_index(std::string_view kind, int index) {
  if (index >= 0) return index;
  throw Error(absl::InvalidArgumentError(
      str_cat("device ", kind, ": index ", index, " is negative; indexes start at 0")));
}

}  // namespace

std::string_view backend_name(BackendKind kind) {
  switch (kind) {
#define BACKEND(number, enumerator, name, ...) \
  case BackendKind::enumerator:                \
    return #name;
#include "dispatch/backends.def"
#undef BACKEND
  }
  return "unknown";
}

Device Device::intern(dispatch::DeviceIdentity identity, bool* is_new) {
  struct Table {
    absl::Mutex mutex;
    std::deque<dispatch::DeviceIdentity> identities ABSL_GUARDED_BY(mutex);  // addresses stay
  };
  static Table& table = *new Table;  // lives as long as any Device, which may be static
  const absl::MutexLock lock(&table.mutex);
  for (const dispatch::DeviceIdentity& known : table.identities) {
    if (known == identity) return Device(&known);
  }
  if (is_new != nullptr) *is_new = true;
  return Device(&table.identities.emplace_back(std::move(identity)));
}

Device Device::cpu(int index) {
  return intern({BackendKind::kCpu, checked_index("cpu", index), {}, {}});
}
Device Device::cuda(int index) {
  return intern({BackendKind::kCuda, checked_index("cuda", index), {}, {}});
}
Device Device::vulkan(int index) {
  return intern({BackendKind::kVulkan, checked_index("vulkan", index), {}, {}});
}

Device Device::remote(std::string_view address, std::string_view inner) {
  const bool is_unix = address.starts_with("unix:");
  const std::string text =
      str_cat(is_unix ? "remote+unix://" : "remote://", is_unix ? address.substr(5) : address,
              inner.empty() ? "" : "/", inner);
  return parse(text);
}

Device Device::capture() {
  static absl::Mutex& mutex = *new absl::Mutex;  // guards `next`
  static int next = 0;
  const absl::MutexLock lock(&mutex);
  while (next <= dispatch::kMaxDeviceIndex) {
    bool is_new = false;
    const Device device = intern({BackendKind::kCapture, next++, {}, {}}, &is_new);
    if (is_new) return device;
  }
  throw Error(absl::ResourceExhaustedError(
      str_cat("capture: all ", dispatch::kMaxDeviceIndex + 1,
              " capture devices of this process are taken; open a new scope on one of them")));
}

Device Device::parse(std::string_view text) {
  return intern(value_or_throw(dispatch::parse_device(text)));
}

Device Device::of(const dispatch::DeviceIdentity& identity) {
  return parse(dispatch::device_text(identity));
}

std::vector<Device> Device::enumerate(const std::vector<DeviceFilter>& filters) {
  return dispatch::registry().enumerate(filters);
}

bool Device::is_same_device(const Device& other) const {
  const dispatch::DeviceState* const state = dispatch::registry().find(*this);
  return state != nullptr && state == dispatch::registry().find(other);
}

Device Device::default_device() { return value_or_throw(dispatch::registry().default_device()); }

std::string Device::str() const { return dispatch::device_text(*identity_); }

Device Device::autodiff() const {
  if (kind() == BackendKind::kCapture) {
    throw Error(absl::FailedPreconditionError(
        str_cat("autodiff: ", str(), " records a graph and tracks no gradients")));
  }
  Device device = *this;
  device.autodiff_ = true;
  return device;
}

Device Device::gradient_checkpointing() const {
  if (!autodiff_) {
    throw Error(absl::FailedPreconditionError(
        str_cat("gradient_checkpointing: ", str(), " has no autodiff; call autodiff() first")));
  }
  Device device = *this;
  device.checkpointing_ = Checkpointing::kBalanced;
  return device;
}

Device Device::without_autodiff() const { return Device(identity_); }

dispatch::DeviceState& Device::state() const {
  return *value_or_throw(dispatch::registry().open(*this));
}

void Device::flush() const {
  dispatch::throw_if_forked();
  dispatch::DeviceState& device = state();
  const uint64_t windows = device.stats().windows;
  dispatch::Recorder::current().flush(device);
  // Drops too, where nothing was recorded; else they go with the window, whose run is followed by a
  // flush, and not in a frame of their own before it.
  if (device.stats().windows == windows) device.backend().flush();
}

void Device::synchronize() const {
  dispatch::throw_if_forked();
  dispatch::DeviceState& device = state();
  dispatch::Recorder::current().flush_all();
  dispatch::wait_for_tasks(device);
  throw_if_error(device.backend().synchronize());
}

dispatch::DeviceInfo Device::info() const { return state().backend().info(); }

dispatch::MemoryUse Device::memory() const { return state().backend().memory(); }

void Device::reset_peak_memory() const { state().backend().reset_peak_memory(); }

void Device::trim() const { state().backend().trim(); }

}  // namespace remora
