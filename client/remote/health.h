// Whether a worker serves, as orchestrators ask: grpc.health.v1. Needs no token and opens no
// session. Any thread may call it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/remote/options.h"

namespace remora::remote {

/// OK if the worker says that it serves; UNAVAILABLE with what it said instead (a worker that
/// drains says NOT_SERVING), or why there was no answer within the connect deadline.
absl::Status check_health(const std::string& address, const RemoteOptions& options);

}  // namespace remora::remote
