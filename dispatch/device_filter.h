// Which devices `Device::enumerate` looks for. A plain value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/device.h"

namespace remora {

class DeviceFilter {
 public:
  /// The devices of a kind; of kRemote every device of the workers of REMORA_WORKERS. kCapture
  /// names none.
  DeviceFilter(BackendKind kind) : kind_(kind) {}  // NOLINT(google-explicit-constructor)
  /// The devices of the worker at `address` ("host:port" or "unix:/path"), or of all workers of
  /// REMORA_WORKERS if that is empty: those of each of `kinds` in turn, or all, as the worker lists
  /// them.
  static DeviceFilter remote(std::string_view address = "", std::vector<BackendKind> kinds = {}) {
    DeviceFilter filter(BackendKind::kRemote);
    filter.address_ = address;
    filter.inner_ = std::move(kinds);
    return filter;
  }

  BackendKind kind() const { return kind_; }
  const std::string& address() const { return address_; }
  const std::vector<BackendKind>& inner() const { return inner_; }

 private:
  BackendKind kind_;
  std::string address_;
  std::vector<BackendKind> inner_;
};

}  // namespace remora
