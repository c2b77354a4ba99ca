#include "server/endpoint.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {

Endpoint::Endpoint(Worker& worker, const ListenAddress& address)
    : worker_(worker), address_(address), service_(worker) {}

Endpoint::~Endpoint() {
  if (server_ != nullptr) drain();
}

absl::StatusOr<std::unique_ptr<Endpoint>> Endpoint::listen(Worker& worker,
                                                           const ListenAddress& address) {
  REMORA_RETURN_IF_ERROR(clear_stale_socket(address));
  std::unique_ptr<Endpoint> endpoint(new Endpoint(worker, address));  // owned by the caller
  REMORA_RETURN_IF_ERROR(endpoint->start());
  return endpoint;
}

absl::Status Endpoint::start() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address_.str(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMaxFrameBytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, static_cast<int>(wire::kMaxFrameBytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingInterval_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveInterval_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeout_ms);
  // Two workers on one port would share its connections at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  {
    const mode_t before = umask(0177);
    const absl::Cleanup restore = [before] { umask(before); };
    server_ = builder.BuildAndStart();
  }
  if (server_ == nullptr || (!address_.is_unix && port == 0)) {
    return absl::UnavailableError(
        str_cat("--listen: ", address_.str(),
                " cannot be listened on: it is in use or not of this machine"));
  }
  if (!address_.is_unix) address_.port = static_cast<uint16_t>(port);
  return absl::OkStatus();
}

void Endpoint::drain() {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  worker_.sessions().drain(absl::UnavailableError("the worker is draining"));
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(kDrainDeadline_ms));
  server_->Wait();
  server_.reset();
  remove_socket(address_);
}

}  // namespace remora::server
