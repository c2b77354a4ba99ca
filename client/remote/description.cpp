#include "client/remote/description.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/ascii.h"
#include "client/remote/channel.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "remora/v1/worker.grpc.pb.h"

namespace remora::remote {
namespace {

/// What the worker prescribes for a device; nothing said is the default.
absl::StatusOr<DeviceSettings> checked(const v1::DeviceSettings& said, std::string_view address) {
  DeviceSettings settings;
  const auto take = [&](uint32_t number, DType& target) {
    if (number == 0) return true;
    if (number > UINT8_MAX || !is_known_dtype(static_cast<uint8_t>(number))) return false;
    target = static_cast<DType>(number);
    return true;
  };
  const bool known = take(said.float_dtype(), settings.float_dtype) &&
                     take(said.int_dtype(), settings.int_dtype) &&
                     take(said.bool_dtype(), settings.bool_dtype);
  settings.tf32 = said.tf32();
  settings.deterministic = said.deterministic();
  if (!known || !dispatch::check_settings(settings).ok()) {
    return absl::FailedPreconditionError(str_cat(
        "worker ", address, " prescribes default element types ", said.float_dtype(), ", ",
        said.int_dtype(), " and ", said.bool_dtype(), ", which this program cannot follow"));
  }
  return settings;
}

absl::StatusOr<WorkerDescriptionPtr> checked(const v1::DescribeReply& reply,
                                             std::string_view address) {
  if (reply.versions().min() > wire::kMaxVersion || reply.versions().max() < wire::kMinVersion) {
    return absl::FailedPreconditionError(
        str_cat("worker ", address, " speaks protocol versions ", reply.versions().min(), " to ",
                reply.versions().max(), "; this program speaks ", wire::kMinVersion, " to ",
                wire::kMaxVersion, ": update the older of the two"));
  }
  const int count = reply.devices_size();
  if (count < 1 || count > kMaxDescribedDevices ||
      reply.default_device() >= static_cast<uint32_t>(count)) {
    return absl::FailedPreconditionError(str_cat("worker ", address, " describes ", count,
                                                 " devices with default ", reply.default_device(),
                                                 "; 1 to ", kMaxDescribedDevices, " are right"));
  }
  auto description = std::make_shared<WorkerDescription>();
  description->address = std::string(address);
  description->build = reply.build();
  description->instance = reply.instance();
  description->default_device = reply.default_device();
  for (const v1::DeviceDescription& device : reply.devices()) {
    RemoteDevice& entry = description->devices.emplace_back();
    entry.text = absl::AsciiStrToLower(device.text());
    entry.name = device.name();
    entry.fingerprint = device.fingerprint();
    entry.memory_limit_bytes = static_cast<int64_t>(device.memory_limit_bytes());
    REMORA_ASSIGN_OR_RETURN(entry.settings, checked(device.settings(), address));
    entry.dtypes.resize(dispatch::kMaxOpCode + 1);
    // What this build does not know of is nothing it could ask for.
    for (const v1::OpSupport& support : device.support()) {
      if (support.opcode() <= dispatch::kMaxOpCode)
        entry.dtypes[support.opcode()] = support.dtypes();
    }
  }
  return description;
}

}  // namespace

absl::StatusOr<uint32_t> WorkerDescription::find_device(std::string_view text) const {
  if (text.empty()) return default_device;
  std::string wanted = absl::AsciiStrToLower(std::string(text));
  if (wanted.find(':') == std::string::npos) wanted += ":0";
  std::string available;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].text == wanted) return i;
    available += str_cat(available.empty() ? "" : ", ", devices[i].text);
  }
  return absl::NotFoundError(
      str_cat("worker ", address, " has no device ", text, "; it has ", available));
}

absl::StatusOr<WorkerDescriptionPtr> describe(const std::shared_ptr<grpc::Channel>& channel,
                                              std::string_view address,
                                              const RemoteOptions& options, const Token& token) {
  grpc::ClientContext context;
  add_token(context, token.text);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(options.connect_deadline_ms));
  v1::DescribeRequest request;
  request.mutable_versions()->set_min(wire::kMinVersion);
  request.mutable_versions()->set_max(wire::kMaxVersion);
  v1::DescribeReply reply;
  const grpc::Status status = v1::Worker::NewStub(channel)->Describe(&context, request, &reply);
  if (status.ok()) return checked(reply, address);
  switch (status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return call_error(status, address, str_cat("refused the token of ", token.source));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::UnavailableError(str_cat("worker ", address, " did not answer within ",
                                            options.connect_deadline_ms, " ms"));
    default:
      return call_error(status, address, "cannot be reached");
  }
}

}  // namespace remora::remote
