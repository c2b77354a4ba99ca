#include "client/remote/channel.h"

#include <charconv>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "grpc/grpc.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace remora::remote {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace

absl::Status check_address(std::string_view address, const RemoteOptions& options) {
  if (address.starts_with(kUnixPrefix)) {
    if (address.size() > kUnixPrefix.size()) return absl::OkStatus();
    return absl::InvalidArgumentError("worker unix: names no path; unix:/path is right");
  }
  const size_t colon = address.rfind(':');
  const std::string_view host = address.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "" : address.substr(colon + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (host.empty() || error != std::errc() || end != port.data() + port.size() || number < 1 ||
      number > 65'535 || (!bracketed && host.find(':') != std::string_view::npos)) {
    return absl::InvalidArgumentError(
        str_cat("worker address '", address, "': host:port, [IPv6]:port or unix:/path is right"));
  }
  if (is_loopback(host) || options.insecure) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(
      "worker ", address,
      ": the connection would be plain text, so others could read its token and tensors; set "
      "RemoteOptions::insecure or REMORA_INSECURE=1 to allow it"));
}

std::shared_ptr<grpc::Channel> make_channel(std::string_view address, Plane plane) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveInterval_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeout_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxHttp2FrameBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A worker is dialled directly: a proxy of the environment is for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  if (plane == Plane::kControl) arguments.SetString(GRPC_ARG_OPTIMIZATION_TARGET, "latency");
  return grpc::CreateCustomChannel(std::string(address), grpc::InsecureChannelCredentials(),
                                   arguments);
}

void add_token(grpc::ClientContext& context, const std::string& token) {
  if (!token.empty()) context.AddMetadata("authorization", str_cat("Bearer ", token));
}

absl::Status call_error(const grpc::Status& status, std::string_view address,
                        std::string_view what) {
  absl::StatusCode code = static_cast<absl::StatusCode>(status.error_code());
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::INTERNAL:
      code = absl::StatusCode::kUnavailable;
      break;
    default:
      break;
  }
  const std::string reason = status.ok() ? "the worker ended the stream" : status.error_message();
  return {code, str_cat("worker ", address, ": ", what, ": ", reason)};
}

}  // namespace remora::remote
