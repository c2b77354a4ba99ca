#include "dispatch/device_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/worker_address.h"

namespace remora::dispatch {
namespace {

constexpr std::string_view kForms =
    "cpu, cuda:0, vulkan:0, remote, remote/cpu, remote://HOST:PORT, "
    "remote://HOST:PORT/cuda:0, "
    "remote+unix:///PATH/cpu, capture:0";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

absl::Status unknown(std::string_view text) {
  return absl::InvalidArgumentError(str_cat("unknown device '", text, "'; allowed are ", kForms));
}

std::optional<BackendKind> kind_from_name(std::string_view name) {
#define BACKEND(number, enumerator, text, ...) \
  if (name == #text) return BackendKind::enumerator;
#include "dispatch/backends.def"
#undef BACKEND
  return std::nullopt;
}

std::optional<int> parse_number(std::string_view text, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > max)
    return {};
  return value;
}

/// "kind" or "kind:index", in lower case.
absl::StatusOr<DeviceIdentity> parse_plain(std::string_view text, std::string_view whole) {
  constexpr std::array<std::string_view, 4> kVulkanNames = {"metal", "rocm", "wgpu", "webgpu"};
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (std::ranges::find(kVulkanNames, name) != kVulkanNames.end()) {
    return absl::InvalidArgumentError(
        str_cat("device '", whole, "': use vulkan instead of ", name));
  }
  const std::optional<BackendKind> kind = kind_from_name(name);
  if (!kind.has_value()) return unknown(whole);
  DeviceIdentity identity{.kind = *kind};
  if (colon != std::string_view::npos) {
    const std::optional<int> index = parse_number(text.substr(colon + 1), kMaxDeviceIndex);
    if (!index.has_value()) {
      return absl::InvalidArgumentError(str_cat("device '", whole, "': '", text.substr(colon + 1),
                                                "' is not an index; a number from 0 to ",
                                                kMaxDeviceIndex, " is needed"));
    }
    identity.index = *index;
  }
  return identity;
}

absl::StatusOr<std::string> parse_inner(std::string_view text, std::string_view whole) {
  absl::StatusOr<DeviceIdentity> inner = parse_local_device(text);
  if (!inner.ok()) {
    return absl::InvalidArgumentError(str_cat("device '", whole, "': the worker's device '", text,
                                              "' must be like cpu, cpu:1, cuda:0 or vulkan:0"));
  }
  return device_text(*inner);
}

absl::StatusOr<DeviceIdentity> parse_remote(std::string_view rest, std::string_view whole) {
  DeviceIdentity identity{.kind = BackendKind::kRemote};
  const size_t slash = rest.find('/');
  identity.endpoint = lower(rest.substr(0, slash));
  const absl::StatusOr<WorkerAddress> address = parse_worker_address(identity.endpoint);
  if (!address.ok() || address->is_unix) {
    return absl::InvalidArgumentError(str_cat("device '", whole, "': '", identity.endpoint,
                                              "' is not HOST:PORT with a port from 1 to 65535"));
  }
  if (slash != std::string_view::npos && slash + 1 < rest.size()) {
    REMORA_ASSIGN_OR_RETURN(identity.inner, parse_inner(lower(rest.substr(slash + 1)), whole));
  }
  return identity;
}

/// The path keeps its case; its last segment is the device if it parses as one.
absl::StatusOr<DeviceIdentity> parse_remote_unix(std::string_view path, std::string_view whole) {
  DeviceIdentity identity{.kind = BackendKind::kRemote};
  const size_t slash = path.rfind('/');
  if (path.size() < 2 || path.front() != '/') {
    return absl::InvalidArgumentError(
        str_cat("device '", whole,
                "': remote+unix:// needs an absolute path, remote+unix:///run/remora.sock"));
  }
  if (const auto inner = parse_local_device(lower(path.substr(slash + 1)));
      inner.ok() && slash > 0) {
    identity.inner = device_text(*inner);
    path = path.substr(0, slash);
  }
  identity.endpoint = str_cat("unix:", path);
  if (const auto address = parse_worker_address(identity.endpoint); !address.ok()) {
    return absl::InvalidArgumentError(
        str_cat("device '", whole, "': ", std::string(address.status().message())));
  }
  return identity;
}

}  // namespace

absl::StatusOr<DeviceIdentity> parse_local_device(std::string_view text) {
  REMORA_ASSIGN_OR_RETURN(DeviceIdentity identity, parse_plain(lower(text), text));
  if (identity.kind == BackendKind::kRemote || identity.kind == BackendKind::kCapture)
    return unknown(text);
  return identity;
}

absl::StatusOr<DeviceIdentity> parse_device(std::string_view text) {
  constexpr std::string_view kRemote = "remote://";
  constexpr std::string_view kUnix = "remote+unix://";
  const std::string folded = lower(text);
  if (folded.starts_with(kRemote)) return parse_remote(text.substr(kRemote.size()), text);
  if (folded.starts_with(kUnix)) return parse_remote_unix(text.substr(kUnix.size()), text);
  if (folded == "remote") return DeviceIdentity{.kind = BackendKind::kRemote};
  if (folded.starts_with("remote/")) {
    DeviceIdentity identity{.kind = BackendKind::kRemote};
    REMORA_ASSIGN_OR_RETURN(identity.inner, parse_inner(folded.substr(7), text));
    return identity;
  }
  REMORA_ASSIGN_OR_RETURN(DeviceIdentity identity, parse_plain(folded, text));
  if (identity.kind == BackendKind::kRemote) return unknown(text);  // "remote:0"
  return identity;
}

std::string device_text(const DeviceIdentity& identity) {
  if (identity.kind == BackendKind::kRemote) {
    const std::string inner = identity.inner.empty() ? "" : str_cat("/", identity.inner);
    if (identity.endpoint.empty()) return str_cat("remote", inner);
    if (identity.endpoint.starts_with("unix:")) {
      return str_cat("remote+unix://", identity.endpoint.substr(5), inner);
    }
    return str_cat("remote://", identity.endpoint, inner);
  }
  const std::string name(backend_name(identity.kind));
  if (identity.kind == BackendKind::kCpu && identity.index == 0) return name;
  return str_cat(name, ":", identity.index);
}

}  // namespace remora::dispatch
