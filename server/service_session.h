// The gRPC stream of a session.
#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "remora/v1/worker.pb.h"
#include "server/worker.h"

namespace remora::server {

/// The reactor of one Session call; gRPC owns it until its last reaction.
grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame>* serve_session(
    Worker& worker, grpc::CallbackServerContext& context);

}  // namespace remora::server
