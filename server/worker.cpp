#include "server/worker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dispatch/build_info.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {
namespace {

int64_t sum_of_limits(const std::vector<ServedDevice>& devices) {
  int64_t sum = 0;
  for (const ServedDevice& device : devices) {
    const int64_t limit = device.state->backend().memory().limit_bytes;
    sum += std::min(limit, std::numeric_limits<int64_t>::max() - sum);
  }
  return sum;
}

absl::Status check_identities(const Options& options) {
  for (const auto& [name, limits] : options.identities) {
    for (const DeviceChoice& choice : limits.devices.value_or(std::vector<DeviceChoice>())) {
      const bool served = std::any_of(
          options.devices.begin(), options.devices.end(), [&](const DeviceChoice& each) {
            return each.kind == choice.kind && each.index == choice.index;
          });
      if (served) continue;
      return absl::InvalidArgumentError(str_cat("identity ", name, ": the device ",
                                                backend_name(choice.kind), ":", choice.index,
                                                " is not one of --devices"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::create(const Options& options,
                                                       Authenticator authenticator) {
  REMORA_RETURN_IF_ERROR(check_identities(options));
  REMORA_ASSIGN_OR_RETURN(std::vector<ServedDevice> devices, open_devices(options));
  return std::unique_ptr<Worker>(  // owned by the caller
      new Worker(std::move(devices), std::move(authenticator), options));
}

Worker::Worker(std::vector<ServedDevice> devices, Authenticator authenticator,
               const Options& options)
    : devices_(std::move(devices)),
      authenticator_(std::move(authenticator)),
      upload_deadline_(options.upload_deadline_ms),
      keepalive_(options.keepalive),
      instance_(random_bytes(kInstanceBytes)) {
  const int64_t all_bytes = sum_of_limits(devices_);
  SessionRules rules;
  rules.instance = instance_;
  rules.timeouts.idle = options.idle_timeout;
  rules.timeouts.reply = options.reply_timeout;
  rules.identity_quota.bytes = options.identity_defaults.bytes.value_or(all_bytes);
  rules.identity_quota.in_flight_bytes =
      options.identity_defaults.in_flight_bytes.value_or(std::numeric_limits<int64_t>::max());
  rules.identity_quota.sessions = options.identity_defaults.sessions.value_or(wire::kMaxSessions);
  rules.identities = options.identities;
  rules.session_quota_bytes = session_quota_bytes_ =
      options.session_quota_bytes.value_or(all_bytes);
  DeviceList list;
  for (const ServedDevice& device : devices_) list.push_back(&device);
  sessions_ = std::make_unique<SessionTable>(std::move(list), std::move(rules));
}

absl::StatusOr<v1::DescribeReply> Worker::describe(const std::string& identity) const {
  REMORA_ASSIGN_OR_RETURN(const DeviceList devices, sessions_->devices_of(identity));
  v1::DescribeReply reply;
  reply.mutable_versions()->set_min(wire::kMinVersion);
  reply.mutable_versions()->set_max(wire::kMaxVersion);
  reply.set_build(std::string(dispatch::build_fingerprint()));
  reply.set_instance(instance_);
  for (const ServedDevice* device : devices) {
    v1::DeviceDescription& description = *reply.add_devices();
    description = device->description;
    const int64_t live = device->state->backend().memory().live_bytes;
    description.set_live_bytes(static_cast<uint64_t>(std::max<int64_t>(live, 0)));
  }
  reply.set_default_device(0);
  const int64_t quota = std::min(session_quota_bytes_, sessions_->quota_of(identity).bytes);
  reply.set_session_quota_bytes(static_cast<uint64_t>(quota));
  reply.set_sessions(static_cast<uint32_t>(sessions_->size()));
  return reply;
}

}  // namespace remora::server
