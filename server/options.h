// The worker's options: the command line, and under the same names the configuration file. Plain
// values; `parse_options` checks each by itself, auth.h and worker.h what they mean together.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatch/device.h"
#include "dispatch/device_settings.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {

struct DeviceChoice {
  BackendKind kind = BackendKind::kCpu;
  int index = 0;
  bool optional = false;  // served where it can be opened
};

inline constexpr int kNoParent = 0;
inline constexpr int kAnyParent = 1;  // whatever the parent is at start

/// What all sessions of one identity may use; absent: as the worker's defaults say.
struct IdentityLimits {
  std::optional<std::vector<DeviceChoice>> devices;
  std::optional<int64_t> bytes;
  std::optional<int64_t> in_flight_bytes;
  std::optional<int64_t> sessions;
};

struct Options {
  std::string listen;  // "host:port" or "unix:PATH"
  std::vector<DeviceChoice> devices;
  std::map<BackendKind, int64_t>
      memory_limit_bytes;  // of each device of a kind; absent: the device decides
  int threads = 0;         // of each cpu device; 0: one per core
  std::optional<int64_t> session_quota_bytes;  // absent: the sum of the devices' limits
  IdentityLimits identity_defaults;            // `devices` is not used
  std::map<std::string, IdentityLimits> identities;
  DeviceSettings settings;  // prescribed for every device
  std::string token_file;   // empty: none; likewise the files below
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  bool insecure = false;
  std::chrono::milliseconds idle_timeout{kIdleTimeout_ms};    // 0: never
  std::chrono::milliseconds reply_timeout{kReplyTimeout_ms};  // 0: never
  std::chrono::milliseconds keepalive{wire::kKeepaliveInterval_ms};
  std::string log_level = "info";
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

}  // namespace remora::server
