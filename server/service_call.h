// What every handler does first and last: find out who calls, turn a status into gRPC's.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/worker.h"

namespace remora::server {

grpc::Status to_grpc(const absl::Status& status);

/// The identity of who calls `method`; logs a refusal.
absl::StatusOr<std::string> authenticate(const Worker& worker,
                                         const grpc::CallbackServerContext& context,
                                         std::string_view method);

/// Logs that a call was refused.
void log_refusal(const grpc::CallbackServerContext& context, std::string_view method,
                 std::string_view identity, const absl::Status& reason);

}  // namespace remora::server
