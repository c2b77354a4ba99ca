// The endpoint of a worker: the gRPC server with its service and grpc.health.v1, from listening to
// drained. Health answers without a token, as probes expect.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "server/listen_address.h"
#include "server/service.h"
#include "server/worker.h"

namespace remora::server {

class Endpoint {
 public:
  /// Starts to listen. `worker` outlives the endpoint. No other thread may create files
  /// meanwhile, since the socket's mode is set through the process's umask.
  static absl::StatusOr<std::unique_ptr<Endpoint>> listen(Worker& worker,
                                                          const ListenAddress& address);
  ~Endpoint();

  /// Where it listens, with the port it was given.
  const ListenAddress& address() const { return address_; }
  /// Refuses new calls, ends all sessions with UNAVAILABLE, and returns when the last call has
  /// ended.
  void drain();

 private:
  Endpoint(Worker& worker, const ListenAddress& address);
  absl::Status start();

  Worker& worker_;
  ListenAddress address_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace remora::server
