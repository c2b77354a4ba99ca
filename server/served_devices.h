// The devices a worker serves: each a dispatch core of its own, shared by every session. Opened at
// start, in the order of `--devices`; a device's place in the list is its number on the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatch/device_state.h"
#include "remora/v1/worker.pb.h"
#include "server/flow_room.h"
#include "server/options.h"

namespace remora::server {

struct ServedDevice {
  std::string text;  // "cpu:0"
  std::unique_ptr<dispatch::DeviceState> state;
  v1::DeviceDescription description;  // all but what changes
  /// Host memory of uploads on their way to this device, of all sessions.
  std::shared_ptr<FlowRoom> staging;
};

/// Some devices of a worker, by their number on the wire for whoever may use them.
using DeviceList = std::vector<const ServedDevice*>;

/// Opens every device that `options` names, but for optional ones that cannot be: the log says why.
/// An error says which other could not be opened and why, or that nothing is left.
absl::StatusOr<std::vector<ServedDevice>> open_devices(const Options& options);

}  // namespace remora::server
