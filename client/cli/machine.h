// What the tool says of the machine it runs on. Pure reads; any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dispatch/device.h"

namespace remora::cli {

/// A device that a backend of this build counts, or a kind that has none.
struct LocalDevice {
  BackendKind kind;
  std::string text;     // "cpu:0"; of a kind without devices "cuda"
  bool counted = true;  // false for such a kind; `status` says why, and is OK for a plain zero
  std::string name;     // of the hardware; empty unless it can be opened
  absl::Status status;
};

/// Those of one kind; empty if the build has not got it.
std::vector<LocalDevice> local_devices(BackendKind kind);

/// The first value of `key` in a file of "key : value" lines such as /proc/cpuinfo, or "".
std::string value_in(const char* path, std::string_view key);

}  // namespace remora::cli
