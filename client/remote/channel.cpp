#include "client/remote/channel.h"

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "dispatch/worker_address.h"
#include "grpc/grpc.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace remora::remote {
absl::Status check_address(std::string_view address) {
  const absl::Status status = dispatch::parse_worker_address(address).status();
  if (status.ok()) return status;
  return absl::Status(status.code(), str_cat("worker ", std::string(status.message())));
}

absl::Status check_privacy(std::string_view address, const RemoteOptions& options,
                           const std::optional<Tls>& tls) {
  const auto parsed = dispatch::parse_worker_address(address);
  if (tls.has_value() || options.insecure || (parsed.ok() && parsed->is_local())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(str_cat(
      "worker ", address,
      ": the connection would be plain text, so others could read its token and tensors; set "
      "REMORA_TLS_CA or RemoteOptions::tls_ca to the authority of its certificate, or allow plain "
      "text with RemoteOptions::insecure or REMORA_INSECURE=1"));
}

std::shared_ptr<grpc::Channel> make_channel(std::string_view address, Plane plane,
                                            const std::optional<Tls>& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, wire::kKeepaliveInterval_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, wire::kKeepaliveTimeout_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxHttp2FrameBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A worker is dialled directly: a proxy of the environment is for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  if (plane == Plane::kControl) arguments.SetString(GRPC_ARG_OPTIMIZATION_TARGET, "latency");
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls.has_value()) {
    const wire::TlsMaterial& material = tls->material;
    credentials = grpc::SslCredentials({material.ca, material.key, material.certificate});
  }
  return grpc::CreateCustomChannel(std::string(address), credentials, arguments);
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
