#include "server/endpoint.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "grpc/support/log.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {
namespace {

std::shared_ptr<grpc::ServerCredentials> credentials_of(const Authenticator& authenticator) {
  const wire::TlsMaterial& tls = authenticator.tls();
  if (tls.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  options.pem_root_certs = tls.ca;
  if (!tls.ca.empty()) {
    options.client_certificate_request =
        authenticator.needs_certificate()
            ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
            : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

void log_message(gpr_log_func_args* message) {
  constexpr std::string_view kFailed = "Handshaking failed: ";
  const std::string_view text = message->message;
  const auto escaped = [](std::string_view part) {
    return absl::CHexEscape({part.data(), part.size()});
  };
  // A handshake that fails is the one refusal that gRPC makes by itself; it calls it a detail.
  if (text.starts_with(kFailed)) {
    const std::string_view reason = text.substr(kFailed.size());
    spdlog::warn("connection refused: TLS: {}", escaped(reason.substr(0, reason.find(" {"))));
  } else if (message->severity == GPR_LOG_SEVERITY_ERROR && !text.starts_with("Handshake failed")) {
    spdlog::error("grpc: {}", escaped(text));
  }
}

}  // namespace

void log_grpc_messages(bool with_tls) {
  gpr_set_log_function(log_message);
  gpr_set_log_verbosity(with_tls ? GPR_LOG_SEVERITY_DEBUG : GPR_LOG_SEVERITY_ERROR);
}

Endpoint::~Endpoint() {
  if (server_ != nullptr) drain();
}

absl::StatusOr<std::unique_ptr<Endpoint>> Endpoint::serve(Worker& worker, ListenSockets sockets) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(worker));  // owned by the caller
  REMORA_RETURN_IF_ERROR(endpoint->start(std::move(sockets)));
  return endpoint;
}

absl::Status Endpoint::start(ListenSockets sockets) {
  const Authenticator& authenticator = worker_.authenticator();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      credentials_of(authenticator));
  builder.RegisterService(&service_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMaxFrameBytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, static_cast<int>(wire::kMaxFrameBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConnectionCalls);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             wire::kMinPingInterval_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Else a connection without traffic would be asked twice and never again.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             static_cast<int>(worker_.keepalive().count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(worker_.keepalive().count() / 2));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::InternalError(
        str_cat("--listen ", sockets.address().str(), ": gRPC does not start a server"));
  }
  const auto protocol = authenticator.tls().certificate.empty() ? Acceptor::Protocol::kHttp2
                                                                : Acceptor::Protocol::kTls;
  acceptor_ = std::make_unique<Acceptor>(
      std::move(sockets), protocol, [this](int listener, int connection) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
        parameters.listener_fd = listener;
        parameters.fd = connection;
        connections_->HandleNewConnection(&parameters);
      });
  return absl::OkStatus();
}

void Endpoint::drain() {
  acceptor_.reset();
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  worker_.sessions().drain(absl::UnavailableError("the worker is draining"));
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(kDrainDeadline_ms));
  server_->Wait();
  server_.reset();
  // The log ends before gRPC's threads do.
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(nullptr);
}

}  // namespace remora::server
