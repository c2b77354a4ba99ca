// The text forms of devices: one grammar for users, environment variables and the wire. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dispatch/device.h"

namespace remora::dispatch {

/// Parses a text form. INVALID_ARGUMENT says what is wrong and what is allowed.
absl::StatusOr<DeviceIdentity> parse_device(std::string_view text);
/// Parses a device of one machine: "cpu", "cuda:1"; never a remote one.
absl::StatusOr<DeviceIdentity> parse_local_device(std::string_view text);
/// The canonical text: "cpu", "cpu:1", "cuda:0", "remote://host:7070/cpu".
std::string device_text(const DeviceIdentity& identity);

}  // namespace remora::dispatch
