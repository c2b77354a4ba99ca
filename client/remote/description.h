// What a worker says of itself: its instance and its devices with what each can run. A plain value
// made of a checked DescribeReply; shared and never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/remote/options.h"
#include "dispatch/device_settings.h"
#include "dispatch/dtype.h"
#include "dispatch/op.h"
#include "grpcpp/channel.h"

namespace remora::remote {

/// One device of a worker.
struct RemoteDevice {
  std::string text;  // "cpu:0"
  std::string name;  // for people
  std::string fingerprint;
  int64_t memory_limit_bytes = 0;
  DeviceSettings settings = {};  // what the worker prescribes
  std::vector<uint32_t> dtypes;  // by opcode: bit n stands for dtype wire number n

  bool supports(dispatch::OpCode code, DType dtype) const {
    const auto index = static_cast<size_t>(code);
    return index < dtypes.size() && ((dtypes[index] >> static_cast<unsigned>(dtype)) & 1) != 0;
  }
};

struct WorkerDescription {
  std::string address;
  std::string build;
  std::string instance;
  std::vector<RemoteDevice> devices;
  uint32_t default_device = 0;

  /// The place of a device: of its text form, case ignored ("cuda" is "cuda:0"); "" is the default
  /// device. NOT_FOUND lists what there is.
  absl::StatusOr<uint32_t> find_device(std::string_view text) const;
};

using WorkerDescriptionPtr = std::shared_ptr<const WorkerDescription>;

/// Asks the worker. Waits at most the connect deadline. UNAVAILABLE when it is not there,
/// UNAUTHENTICATED for a wrong token (names the option it came from), FAILED_PRECONDITION when no
/// version is shared.
absl::StatusOr<WorkerDescriptionPtr> describe(const std::shared_ptr<grpc::Channel>& channel,
                                              std::string_view address,
                                              const RemoteOptions& options, const Token& token);

}  // namespace remora::remote
