// What every handler does first and last: check the token, turn a status into gRPC's.
#pragma once

#include <string_view>

#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/worker.h"

namespace remora::server {

grpc::Status to_grpc(const absl::Status& status);

/// Checks the call's token and logs a refusal.
absl::Status authenticate(const Worker& worker, const grpc::CallbackServerContext& context,
                          std::string_view method);

}  // namespace remora::server
