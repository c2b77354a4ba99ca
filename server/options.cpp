#include "server/options.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "dispatch/build_info.h"
#include "dispatch/device_text.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "server/limits.h"

namespace remora::server {
namespace {

constexpr char kExamples[] = R"(
Examples:
  remorad                                     the CPU, on a unix socket that only this user can open
  remorad --listen 127.0.0.1:7070 --token-file token
                                              programs on this machine that know the token
  remorad --listen 127.0.0.1:0 --insecure     anybody on this machine, on a free port
  remorad --devices cpu,cpu --threads 2 --memory-limit cpu=2GiB
                                              cpu:0 and cpu:1, two threads and 2 GiB each
  remorad --devices cuda?,cpu                 the GPU if there is one (the log says why not), and the CPU
A program reaches the worker as remote://HOST:PORT/cpu or remote+unix://PATH/cpu. The first line on
stdout is "listening on ADDRESS"; logs go to stderr. SIGTERM and SIGINT end all sessions and exit with 0.)";

struct Unit {
  const char* name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"b", 1},
                           {"kib", 1024.0},
                           {"mib", 1048576.0},
                           {"gib", 1073741824.0},
                           {"tib", 1099511627776.0},
                           {"kb", 1e3},
                           {"mb", 1e6},
                           {"gb", 1e9},
                           {"tb", 1e12}};

/// `status` of a value of `option`, with the option named.
absl::Status of_option(std::string_view option, const absl::Status& status) {
  return absl::Status(status.code(), str_cat(option, ": ", std::string(status.message())));
}

/// "cpu=2GiB,cuda=8GiB" into `limits`.
absl::Status parse_memory_limits(const std::string& text, std::map<BackendKind, int64_t>& limits) {
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const auto device = dispatch::parse_local_device(parts[0]);
    if (parts.size() != 2 || !device.ok() || absl::StrContains(parts[0], ':')) {
      return absl::InvalidArgumentError(
          str_cat("--memory-limit: '", entry, "' is not KIND=BYTES, for example cpu=2GiB"));
    }
    const absl::StatusOr<int64_t> bytes = parse_bytes(parts[1]);
    if (!bytes.ok()) return of_option("--memory-limit", bytes.status());
    limits[device->kind] = *bytes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> parse_bytes(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(digits)));
  double count = 0;
  if (absl::SimpleAtod(text.substr(0, digits), &count)) {
    for (const Unit& known : kUnits) {
      if (unit != known.name) continue;
      const double bytes = std::floor(count * known.bytes);
      if (bytes < 1 || bytes >= 9.2e18) break;
      return static_cast<int64_t>(bytes);
    }
  }
  return absl::InvalidArgumentError(
      str_cat("'", text, "' is not a number of bytes, for example 512MiB, 1.5GiB or 2GB"));
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
          "--devices: '", entry,
          "' is not a device of a machine, for example cpu or cpu:1; indices end at 65535"));
    }
    int index = device->index;
    if (absl::StrContains(entry, ':') && taken(device->kind, index)) {
      return absl::InvalidArgumentError(str_cat("--devices: '", entry, "' is named twice"));
    }
    while (taken(device->kind, index)) ++index;
    devices.push_back({device->kind, index, optional});
    if (devices.size() > kMaxDevices) {
      return absl::InvalidArgumentError(
          str_cat("--devices: at most ", kMaxDevices, " can be served"));
    }
  }
  return devices;
}

std::string default_listen_address() {
  if (const char* run = std::getenv("XDG_RUNTIME_DIR"); run != nullptr && run[0] == '/') {
    return str_cat("unix:", run, "/remora.sock");
  }
  return str_cat("unix:/tmp/remora-", getuid(), ".sock");
}

ParsedOptions parse_options(int argc, const char* const* argv) {
  Options options;
  std::string devices = "cpu";
  std::string memory_limits;
  std::string quota;
  options.listen = default_listen_address();

  CLI::App app{"remorad serves the devices of this machine to Remora programs."};
  app.footer(kExamples);
  app.set_version_flag("--version", str_cat("remorad ", dispatch::build_version(), " (",
                                            dispatch::build_fingerprint(), ")"));
  app.add_option("--listen", options.listen, "host:port (port 0: a free one) or unix:PATH")
      ->capture_default_str();
  app.add_option("--devices", devices,
                 "what to serve: cpu, or cpu,cpu for cpu:0 and cpu:1; cuda? where there is one")
      ->capture_default_str();
  app.add_option("--memory-limit", memory_limits, "bytes of each device of a kind: cpu=2GiB");
  app.add_option("--threads", options.threads, "threads of each cpu device (0: one per core)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  app.add_option("--session-quota", quota,
                 "bytes one session may hold (default: the devices' limits)");
  app.add_option("--token-file", options.token_file,
                 "file with the token that every call must bring");
  app.add_flag("--insecure", options.insecure,
               "serve any address without TLS, and TCP without a token");
  app.add_flag(
      "--exit-with-parent", options.parent,
      "end when the process that started this ends; =PID names it, in case it ends at once");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const int code = app.exit(error, out, out);
    return {std::nullopt, out.str(), code};
  }

  absl::Status status;
  if (absl::StatusOr<std::vector<DeviceChoice>> parsed = parse_devices(devices); parsed.ok()) {
    options.devices = *std::move(parsed);
  } else {
    status = parsed.status();
  }
  if (status.ok() && !memory_limits.empty()) {
    status = parse_memory_limits(memory_limits, options.memory_limit_bytes);
  }
  if (status.ok() && !quota.empty()) {
    const absl::StatusOr<int64_t> bytes = parse_bytes(quota);
    if (bytes.ok()) options.session_quota_bytes = *bytes;
    if (!bytes.ok()) status = of_option("--session-quota", bytes.status());
  }
  if (status.ok()) return {std::move(options), "", 0};
  return {std::nullopt, str_cat("remorad: ", std::string(status.message()), "\n"), 2};
}

}  // namespace remora::server
