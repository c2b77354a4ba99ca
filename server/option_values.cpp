#include "server/option_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "dispatch/device_text.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "server/limits.h"

namespace remora::server {
namespace {

struct Unit {
  const char* name;
  double factor;
};
constexpr Unit kByteUnits[] = {{"", 1},
                               {"b", 1},
                               {"kib", 1024.0},
                               {"mib", 1048576.0},
                               {"gib", 1073741824.0},
                               {"tib", 1099511627776.0},
                               {"kb", 1e3},
                               {"mb", 1e6},
                               {"gb", 1e9},
                               {"tb", 1e12}};
constexpr Unit kTimeUnits[] = {{"ms", 1}, {"s", 1e3}, {"min", 6e4}, {"h", 3.6e6}, {"d", 8.64e7}};

/// A number and one of the units, case ignored, rounded down.
std::optional<int64_t> parse_quantity(const std::string& text, std::span<const Unit> units) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(digits)));
  double count = 0;
  if (!absl::SimpleAtod(text.substr(0, digits), &count)) return std::nullopt;
  for (const Unit& known : units) {
    if (unit != known.name) continue;
    const double value = std::floor(count * known.factor);
    if (value < 1 || value >= 9.2e18) break;
    return static_cast<int64_t>(value);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int64_t> parse_bytes(const std::string& text) {
  if (const auto bytes = parse_quantity(text, kByteUnits)) return *bytes;
  return absl::InvalidArgumentError(
      str_cat("'", text, "' is not a number of bytes, for example 512MiB, 1.5GiB or 2GB"));
}

absl::StatusOr<std::chrono::milliseconds> parse_duration(const std::string& text) {
  if (text == "0") return std::chrono::milliseconds(0);
  // Timers count in 32 bits.
  const auto time = parse_quantity(text, kTimeUnits);
  if (time.has_value() && *time <= INT32_MAX) return std::chrono::milliseconds(*time);
  return absl::InvalidArgumentError(
      str_cat("'", text,
              "' is not a time of at most 24 days, for example 500ms, 30s, 10min, 24h; 0 "
              "stands for ever"));
}

std::string duration_text(int64_t time_ms) {
  std::string text = str_cat(time_ms, "ms");
  for (const auto& [unit, size_ms] : kTimeUnits) {
    if (time_ms % static_cast<int64_t>(size_ms) == 0) {
      text = str_cat(time_ms / static_cast<int64_t>(size_ms), unit);
    }
  }
  return text;
}

absl::StatusOr<int64_t> parse_count(const std::string& text) {
  int64_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1) return count;
  return absl::InvalidArgumentError(str_cat("'", text, "' is not a number of at least 1"));
}

absl::StatusOr<std::vector<DeviceChoice>> parse_devices(const std::string& text) {
  std::vector<DeviceChoice> devices;
  const auto taken = [&](BackendKind kind, int index) {
    return std::any_of(devices.begin(), devices.end(), [&](const DeviceChoice& other) {
      return other.kind == kind && other.index == index;
    });
  };
  for (std::string entry : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const bool optional = absl::EndsWith(entry, "?");
    if (optional) entry.pop_back();
    const auto device = dispatch::parse_local_device(entry);
    if (!device.ok()) {
      return absl::InvalidArgumentError(str_cat(
          "'", entry,
          "' is not a device of a machine, for example cpu or cpu:1; indices end at 65535"));
    }
    int index = device->index;
    if (absl::StrContains(entry, ':') && taken(device->kind, index)) {
      return absl::InvalidArgumentError(str_cat("'", entry, "' is named twice"));
    }
    while (taken(device->kind, index)) ++index;
    devices.push_back({device->kind, index, optional});
    if (devices.size() > kMaxDevices) {
      return absl::InvalidArgumentError(str_cat("at most ", kMaxDevices, " can be served"));
    }
  }
  return devices;
}

absl::StatusOr<std::map<BackendKind, int64_t>> parse_memory_limits(
    const std::string& text, const std::vector<DeviceChoice>& devices) {
  std::map<BackendKind, int64_t> limits;
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const auto device = dispatch::parse_local_device(parts[0]);
    if (parts.size() != 2 || !device.ok() || absl::StrContains(parts[0], ':')) {
      return absl::InvalidArgumentError(
          str_cat("'", entry, "' is not KIND=BYTES, for example cpu=2GiB"));
    }
    const bool served = std::any_of(devices.begin(), devices.end(), [&](const DeviceChoice& each) {
      return each.kind == device->kind;
    });
    if (!served) {
      return absl::InvalidArgumentError(str_cat("'", entry, "': no ", backend_name(device->kind),
                                                " device is served; name one in "
                                                "--devices"));
    }
    REMORA_ASSIGN_OR_RETURN(const int64_t bytes, parse_bytes(parts[1]));
    if (!limits.emplace(device->kind, bytes).second) {
      return absl::InvalidArgumentError(
          str_cat(backend_name(device->kind), " has two limits in '", text, "'"));
    }
  }
  return limits;
}

}  // namespace remora::server
