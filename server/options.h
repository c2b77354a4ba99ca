// The worker's command line. Plain values; `parse_options` checks each by itself, auth.h checks
// what they mean together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatch/device.h"
#include "server/limits.h"

namespace remora::server {

struct DeviceChoice {
  BackendKind kind = BackendKind::kCpu;
  int index = 0;
  bool optional = false;  // left out, with a line in the log, where it cannot be opened
};

inline constexpr int kNoParent = 0;
inline constexpr int kAnyParent = 1;  // whatever the parent is at start

struct Options {
  std::string listen;  // "host:port" or "unix:PATH"
  std::vector<DeviceChoice> devices;
  std::map<BackendKind, int64_t>
      memory_limit_bytes;  // of each device of a kind; absent: the device decides
  int threads = 0;         // of each cpu device; 0: one per core
  std::optional<int64_t> session_quota_bytes;  // absent: the sum of the devices' limits
  std::string token_file;                      // empty: none
  bool insecure = false;
  int upload_deadline_ms = kUploadProgressDeadline_ms;  // no option: for tests
  int parent = kNoParent;  // whose end is this process's: a process id, kAnyParent or kNoParent
};

/// Either options, or the text and exit code of --help, --version and mistakes.
struct ParsedOptions {
  std::optional<Options> options;
  std::string message;
  int exit_code = 0;
};
ParsedOptions parse_options(int argc, const char* const* argv);

/// "cpu,cpu:3,cuda?": a kind without an index takes the lowest one that is free, "?" makes a device
/// optional. Duplicates and kinds that are no device of a machine are refused.
absl::StatusOr<std::vector<DeviceChoice>> parse_devices(const std::string& text);

/// "512", "64KiB", "1.5GiB", "2GB": bytes, at least 1.
absl::StatusOr<int64_t> parse_bytes(const std::string& text);

/// Where the worker listens if it is not told: a socket of this user.
std::string default_listen_address();

}  // namespace remora::server
