#include "server/worker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dispatch/build_info.h"
#include "dispatch/error.h"
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

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::create(const Options& options,
                                                       Authenticator authenticator) {
  REMORA_ASSIGN_OR_RETURN(std::vector<ServedDevice> devices, open_devices(options));
  const int64_t quota = options.session_quota_bytes.value_or(sum_of_limits(devices));
  return std::unique_ptr<Worker>(  // owned by the caller
      new Worker(std::move(devices), std::move(authenticator), quota,
                 std::chrono::milliseconds(options.upload_deadline_ms)));
}

Worker::Worker(std::vector<ServedDevice> devices, Authenticator authenticator, int64_t quota_bytes,
               std::chrono::milliseconds upload_deadline)
    : devices_(std::move(devices)),
      authenticator_(std::move(authenticator)),
      quota_bytes_(quota_bytes),
      upload_deadline_(upload_deadline),
      instance_(random_bytes(kInstanceBytes)),
      sessions_(devices_, instance_, quota_bytes_) {}

v1::DescribeReply Worker::describe() const {
  v1::DescribeReply reply;
  reply.mutable_versions()->set_min(wire::kMinVersion);
  reply.mutable_versions()->set_max(wire::kMaxVersion);
  reply.set_build(std::string(dispatch::build_fingerprint()));
  reply.set_instance(instance_);
  for (const ServedDevice& device : devices_) {
    v1::DeviceDescription& description = *reply.add_devices();
    description = device.description;
    const int64_t live = device.state->backend().memory().live_bytes;
    description.set_live_bytes(static_cast<uint64_t>(std::max<int64_t>(live, 0)));
  }
  reply.set_default_device(0);
  reply.set_session_quota_bytes(static_cast<uint64_t>(quota_bytes_));
  reply.set_sessions(static_cast<uint32_t>(sessions_.size()));
  return reply;
}

}  // namespace remora::server
