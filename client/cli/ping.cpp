#include "client/cli/ping.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "client/cli/exit_codes.h"
#include "client/cli/figures.h"
#include "client/cli/machine.h"
#include "client/remote/channel.h"
#include "client/remote/dial.h"
#include "client/remote/health.h"
#include "client/remote/tls_probe.h"
#include "client/remote/worker_connection.h"
#include "dispatch/device_text.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"

namespace remora::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A layer that failed, or none.
struct Failure {
  ExitCode code = kOk;
  std::string layer;
  std::string reason;
  explicit operator bool() const { return code != kOk; }
};

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

/// Resolves the name and connects, without gRPC, so that the two failures can be told apart.
Failure check_connection(const std::string& address, int deadline_ms) {
  const auto parsed = dispatch::parse_worker_address(address);
  const absl::Status status =
      parsed.ok() ? remote::dial(*parsed, deadline_ms).status() : parsed.status();
  if (status.ok()) return {};
  const bool no_name = absl::IsNotFound(status);
  return {no_name ? kNoName : kNoConnection, no_name ? "name resolution" : "connection",
          std::string(status.message())};
}

Failure failure_of(const absl::Status& status) {
  std::string reason(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return {kNoToken, "token", std::move(reason)};
    case absl::StatusCode::kFailedPrecondition:
      return {kNoVersion, "version", std::move(reason)};
    default:
      return {kNoWorker, "worker", std::move(reason)};
  }
}

/// "remote://host:7070/cpu" and "host:7070" both name a worker.
absl::StatusOr<std::string> address_of(const std::string& text) {
  if (text.empty()) {
    const auto worker = remote::WorkerConnection::default_worker();
    if (!worker.ok()) return worker.status();
    return (*worker)->address();
  }
  if (!text.starts_with("remote")) return text;
  try {
    return Device::parse(text).identity().endpoint;
  } catch (const Error& error) {
    return error.status();
  }
}

struct Reached {
  std::string address;
  std::shared_ptr<remote::Session> session;
  Failure failure;
};

Failure failed(ExitCode code, std::string_view layer, const absl::Status& status) {
  return {code, std::string(layer), std::string(status.message())};
}

Reached reach(const PingOptions& options) {
  Reached reached;
  const absl::StatusOr<std::string> address = address_of(options.address);
  absl::Status usable = address.status();
  if (usable.ok()) usable = remote::check_address(*address);
  if (!usable.ok()) {
    reached.failure = failed(kUsage, "address", usable);
    return reached;
  }
  reached.address = *address;
  const remote::RemoteOptions remote_options = options_of(*address, options.credentials);
  remote::set_remote_options(*address, remote_options);
  const auto tls = remote::load_tls(*address, remote_options);
  if (!tls.ok()) {
    reached.failure = failed(kNoTls, "TLS", tls.status());
    return reached;
  }
  if (usable = remote::check_privacy(*address, remote_options, *tls); !usable.ok()) {
    reached.failure = failed(kUsage, "address", usable);
    return reached;
  }
  reached.failure = check_connection(*address, remote_options.connect_deadline_ms);
  if (reached.failure) return reached;
  if (options.health) {
    const absl::Status health = remote::check_health(*address, remote_options);
    if (!health.ok()) reached.failure = failure_of(health);
    return reached;
  }
  if (const auto token = remote::load_token(*address, remote_options); !token.ok()) {
    reached.failure = failed(kNoToken, "token", token.status());
    return reached;
  }
  auto session = remote::WorkerConnection::at(*address).session();
  if (session.ok()) {
    reached.session = *std::move(session);
  } else if (const absl::Status status = remote::probe_tls(*address, remote_options, *tls);
             absl::IsUnauthenticated(status) || absl::IsFailedPrecondition(status)) {
    reached.failure = failed(kNoTls, "TLS", status);
  } else {
    reached.failure = failure_of(session.status());
  }
  return reached;
}

int report_failure(const Reached& reached, bool json) {
  const Failure& failure = reached.failure;
  if (json) {
    const Json report = {{"address", reached.address},
                         {"ok", false},
                         {"failed_layer", failure.layer},
                         {"error", failure.reason}};
    std::printf("%s\n", dump(report).c_str());
  } else {
    std::fprintf(stderr, "remora: %s%s%s: %s\n", reached.address.c_str(),
                 reached.address.empty() ? "" : ": ", failure.layer.c_str(),
                 failure.reason.c_str());
  }
  return failure.code;
}

Json describe(const remote::RemoteDevice& device) {
  return {{"device", device.text},
          {"name", device.name},
          {"fingerprint", device.fingerprint},
          {"memory_limit_bytes", device.memory_limit_bytes}};
}

}  // namespace

std::string why_unreachable(const std::string& address) {
  PingOptions options;
  options.address = address;
  const Reached reached = reach(options);
  return reached.failure ? str_cat(reached.failure.layer, ": ", reached.failure.reason) : "";
}

int ping(const PingOptions& options) {
  Reached reached = reach(options);
  if (reached.failure) return report_failure(reached, options.json);
  if (options.health) {
    const Json report = {{"address", reached.address}, {"ok", true}, {"health", "SERVING"}};
    std::printf("%s\n", options.json ? dump(report).c_str()
                                     : str_cat(reached.address, ": serving").c_str());
    return kOk;
  }
  const remote::WorkerDescription& description = reached.session->description();
  Figures figures;
  for (int i = 0; i < options.count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (const absl::Status status = reached.session->synchronize(description.default_device);
        !status.ok()) {
      reached.failure = failure_of(status);
      return report_failure(reached, options.json);
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    figures.add("round_trip_us", time.count());
  }
  const std::vector<double>& times = figures.samples("round_trip_us");
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  if (options.json) {
    Json devices = Json::array();
    for (const remote::RemoteDevice& device : description.devices)
      devices.push_back(describe(device));
    const Json report = {
        {"address", reached.address},
        {"ok", true},
        {"build", description.build},
        {"round_trip_us",
         {{"median", median(times)}, {"min", *low}, {"max", *high}, {"n", times.size()}}},
        {"devices", devices}};
    std::printf("%s\n", dump(report).c_str());
  } else {
    std::printf("%s: round trip %.1f us (median of %zu, %.1f to %.1f), %zu device%s, build %s\n",
                reached.address.c_str(), median(times), times.size(), *low, *high,
                description.devices.size(), description.devices.size() == 1 ? "" : "s",
                description.build.c_str());
  }
  return kOk;
}

int devices(const PingOptions& options) {
  Json list = Json::array();
  std::string text;
  if (options.address.empty()) {
    for (const BackendKind kind : {BackendKind::kCuda, BackendKind::kVulkan, BackendKind::kCpu}) {
      for (const LocalDevice& device : local_devices(kind)) {
        if (!device.counted && device.status.ok()) continue;
        const std::string name =
            device.status.ok() ? device.name : str_cat(device.status.message());
        list.push_back({{"device", device.text}, {"name", name}});
        text += str_cat(device.text, "  ", name, "\n");
      }
    }
  }
  if (!options.address.empty() || std::getenv("REMORA_WORKERS") != nullptr) {
    const Reached reached = reach(options);
    if (reached.failure) return report_failure(reached, options.json);
    for (const remote::RemoteDevice& device : reached.session->description().devices) {
      const dispatch::DeviceIdentity identity{
          .kind = BackendKind::kRemote, .endpoint = reached.address, .inner = device.text};
      Json entry = describe(device);
      entry["device"] = dispatch::device_text(identity);
      list.push_back(entry);
      text += str_cat(dispatch::device_text(identity), "  ", device.name, "\n");
    }
  }
  std::printf("%s", options.json ? str_cat(dump(list), "\n").c_str() : text.c_str());
  return kOk;
}

}  // namespace remora::cli
