// Values of options as text: devices, bytes, times. Pure functions. Errors say what is right,
// without naming the option.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/options.h"

namespace remora::server {

/// "cpu,cpu:3,cuda?": a kind without an index takes the lowest one that is free, "?" makes a device
/// optional. Duplicates and kinds that are no device of a machine are refused.
absl::StatusOr<std::vector<DeviceChoice>> parse_devices(const std::string& text);

/// "cpu=2GiB,cuda=8GiB". A kind that none of `devices` is of is refused.
absl::StatusOr<std::map<BackendKind, int64_t>> parse_memory_limits(
    const std::string& text, const std::vector<DeviceChoice>& devices);

/// "512", "64KiB", "1.5GiB", "2GB": bytes, at least 1.
absl::StatusOr<int64_t> parse_bytes(const std::string& text);

/// "500ms", "30s", "10min", "24h": a time of at least a millisecond; "0", which stands for ever.
absl::StatusOr<std::chrono::milliseconds> parse_duration(const std::string& text);
/// A time as `parse_duration` takes it, in its largest whole unit: "24h".
std::string duration_text(int64_t time_ms);

/// A whole number of at least 1.
absl::StatusOr<int64_t> parse_count(const std::string& text);

}  // namespace remora::server
