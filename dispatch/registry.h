// The backends this program was built with, and the devices it has opened. One registry per
// process, made at its first use and never destroyed. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/backend.h"
#include "dispatch/device.h"
#include "dispatch/device_filter.h"

namespace remora::dispatch {

class DeviceState;

/// How a kind of backend opens its devices.
struct BackendFactory {
  /// Opens a device; the error says what is missing.
  std::function<absl::StatusOr<std::unique_ptr<Backend>>(const DeviceIdentity&)> open;
  /// How many devices of this kind the machine has; the error says why there is none.
  std::function<absl::StatusOr<int>()> count;
  /// True if the device may be picked as the default one (software GPUs may not).
  std::function<bool(const DeviceIdentity&)> may_be_default = [](const DeviceIdentity&) {
    return true;
  };
  /// The usable devices that a filter of this kind names, in order; none where a worker does not
  /// answer. Absent: the first `count` ones.
  std::function<std::vector<DeviceIdentity>(const DeviceFilter&)> enumerate = {};
  /// The one identity of a device that has several, as a worker with two addresses. Absent: each is
  /// its own.
  std::function<absl::StatusOr<DeviceIdentity>(const DeviceIdentity&)> canonical = {};
};

class Registry {
 public:
  void add(BackendKind kind, BackendFactory factory);
  bool has(BackendKind kind) const;
  /// UNIMPLEMENTED, naming the kinds built in, if `kind` is not one of them.
  absl::StatusOr<const BackendFactory*> factory(BackendKind kind) const;
  /// Opens the device or returns the open one.
  absl::StatusOr<DeviceState*> open(const Device& device);
  /// The device if it is open, else null.
  DeviceState* find(const Device& device) const;
  /// As Device::enumerate.
  std::vector<Device> enumerate(const std::vector<DeviceFilter>& filters);
  /// Every device opened so far.
  std::vector<DeviceState*> opened() const;
  /// Stops every executor: nothing runs while the process takes down what kernels may use. Called
  /// when the main thread leaves, and at exit; harmless twice.
  void stop();
  /// The default device: REMORA_DEVICE, else the kinds in order. Errors name what is available.
  absl::StatusOr<Device> default_device() const;
  /// The kinds that execute: "cpu, remote".
  std::string available() const;

 private:
  mutable absl::Mutex mutex_;
  // Kinds are added before the first use of the registry and never change after.
  std::vector<std::pair<BackendKind, BackendFactory>> factories_;
  absl::flat_hash_map<const DeviceIdentity*, std::unique_ptr<DeviceState>> devices_
      ABSL_GUARDED_BY(mutex_);
  // Other identities of devices in `devices_`.
  absl::flat_hash_map<const DeviceIdentity*, DeviceState*> aliases_ ABSL_GUARDED_BY(mutex_);
};

/// The process's registry; its first use calls `register_backends` and adds capture, which every
/// build has.
Registry& registry();

/// Adds every backend that was built. Defined once per program: by the library in
/// client/register_backends.cpp, by tests that want others.
void register_backends(Registry& registry);

}  // namespace remora::dispatch
