// The endpoint of a worker: the gRPC server with its service and grpc.health.v1, from listening to
// drained. Health answers without a token, as probes expect.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/acceptor.h"
#include "server/listen_address.h"
#include "server/service.h"
#include "server/worker.h"

namespace remora::server {

class Endpoint {
 public:
  /// Starts to serve on these sockets. `worker` outlives the endpoint.
  static absl::StatusOr<std::unique_ptr<Endpoint>> serve(Worker& worker, ListenSockets sockets);
  ~Endpoint();

  /// Refuses new calls, ends all sessions with UNAVAILABLE, and returns when the last call has
  /// ended.
  void drain();

 private:
  explicit Endpoint(Worker& worker) : worker_(worker), service_(worker) {}
  absl::Status start(ListenSockets sockets);

  Worker& worker_;
  Service service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

/// Has gRPC's own messages logged as this worker's; with TLS, failed handshakes among them.
void log_grpc_messages(bool with_tls);

}  // namespace remora::server
