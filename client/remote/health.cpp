#include "client/remote/health.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "absl/synchronization/notification.h"
#include "client/remote/channel.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"

namespace remora::remote {
namespace {

constexpr char kMethod[] = "/grpc.health.v1.Health/Check";

// HealthCheckResponse has one field, number 1, a varint: {UNKNOWN, SERVING, NOT_SERVING,
// SERVICE_UNKNOWN}. Its generated code is in no package.
constexpr char kStatusTag = 0x08;
constexpr std::string_view kStatusNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING",
                                             "SERVICE_UNKNOWN"};
constexpr size_t kServing = 1;

/// The status in a response's bytes; an absent field is 0.
absl::StatusOr<size_t> parse_status(const grpc::ByteBuffer& response) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (response.Valid() && response.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  if (bytes.empty()) return 0;
  const auto status = static_cast<unsigned char>(bytes.back());
  if (bytes.size() == 2 && bytes[0] == kStatusTag && status < std::size(kStatusNames)) {
    return status;
  }
  return absl::UnavailableError(
      str_cat("the answer of ", bytes.size(), " bytes is none of ", "grpc.health.v1"));
}

}  // namespace

absl::Status check_health(const std::string& address, const RemoteOptions& options) {
  REMORA_ASSIGN_OR_RETURN(const std::optional<Tls> tls, load_tls(address, options));
  grpc::GenericStub stub(make_channel(address, Plane::kControl, tls));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(options.connect_deadline_ms));
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  absl::Notification answered;
  stub.UnaryCall(&context, kMethod, {}, &request, &response, [&](grpc::Status result) {
    status = std::move(result);
    answered.Notify();
  });
  answered.WaitForNotification();
  if (!status.ok()) return call_error(status, address, "health");
  REMORA_ASSIGN_OR_RETURN(const size_t said, parse_status(response));
  if (said == kServing) return absl::OkStatus();
  return absl::UnavailableError(str_cat("worker ", address, ": health: it says ",
                                        kStatusNames[said], "; SERVING is expected"));
}

}  // namespace remora::remote
