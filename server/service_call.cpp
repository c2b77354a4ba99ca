#include "server/service_call.h"

#include <optional>
#include <string>

#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {

grpc::Status to_grpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()),
          std::string(status.message().substr(0, kMaxStatusMessageBytes))};
}

absl::Status authenticate(const Worker& worker, const grpc::CallbackServerContext& context,
                          std::string_view method) {
  const auto found = context.client_metadata().find("authorization");
  std::optional<std::string_view> authorization;
  if (found != context.client_metadata().end()) {
    authorization.emplace(found->second.data(), found->second.size());
  }
  absl::Status status = worker.authenticator().check(authorization);
  if (!status.ok()) {
    spdlog::warn("{} from {} refused: {}", method, context.peer(),
                 authorization ? "wrong token" : "no token");
  }
  return status;
}

}  // namespace remora::server
