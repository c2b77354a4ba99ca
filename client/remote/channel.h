// gRPC channels to a worker: their settings, the credentials of a call, and what a gRPC status
// means to the library. Pure functions; any thread may call them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/remote/options.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace remora::remote {

/// What a channel carries. Each is a connection of its own, so that tensors never delay the op
/// stream.
enum class Plane : uint8_t { kControl, kBulk };

/// INVALID_ARGUMENT unless `address` is "host:port", "[v6]:port" or "unix:/path".
absl::Status check_address(std::string_view address);

/// FAILED_PRECONDITION for plain text to a machine that is not this one without `insecure`.
/// Requires `check_address`.
absl::Status check_privacy(std::string_view address, const RemoteOptions& options,
                           const std::optional<Tls>& tls);

/// A channel with a connection of its own. Connects at its first call. Must not be destroyed in a
/// gRPC callback: that waits for itself.
std::shared_ptr<grpc::Channel> make_channel(std::string_view address, Plane plane,
                                            const std::optional<Tls>& tls);

/// Adds the token to a call.
void add_token(grpc::ClientContext& context, const std::string& token);

/// A call's failure as the library names it: `worker ADDRESS: WHAT: reason`. Codes that speak of
/// the connection rather than of the request (CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, OK
/// for a stream that ended) become UNAVAILABLE.
absl::Status call_error(const grpc::Status& status, std::string_view address,
                        std::string_view what);

}  // namespace remora::remote
