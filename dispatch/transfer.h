// Moving bytes: from the host to a device, from a device to the host, between devices. Reads wait;
// the rest does not.
#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "dispatch/device.h"
#include "dispatch/device_state.h"
#include "dispatch/value.h"

namespace remora::dispatch {

/// A value on `device` of these bytes. Does not wait and does not end a window. Throws
/// RESOURCE_EXHAUSTED where a local device has no room; a worker's refusal shows at the first read.
Value upload(const Device& device, HostData data);

/// Ends the windows that `value` depends on and asks for its bytes; `done` is called once, on any
/// thread. Throws FAILED_PRECONDITION for a value of a capture device.
void read_async(const Value& value, ReadCallback done);

/// The same for several values of any devices, one callback each. What lives on one device is asked
/// for together: of a worker, in one round trip.
void read_all_async(std::span<const Value> values, std::vector<ReadCallback> done);

/// Waits for the bytes. Throws what poisoned the value, UNAVAILABLE when its worker is gone, or as
/// `wait_until` does.
HostData read(const Value& value);

/// The value on another device. Same device: the value itself. A hard end on both devices; does not
/// wait. From a capture device only host data goes, and only to another; the rest is refused with
/// FAILED_PRECONDITION.
Value transfer(const Value& value, const Device& device);

/// Runs the device's tasks on this thread, or waits for whoever runs them, until `done()`. Throws
/// CANCELLED when the process ends first.
void wait_until(DeviceState& device, absl::FunctionRef<bool()> done);

/// Waits until the device's executor has run everything that was handed over before the call.
void wait_for_tasks(DeviceState& device);

}  // namespace remora::dispatch
