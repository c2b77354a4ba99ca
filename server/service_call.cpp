#include "server/service_call.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "dispatch/str_cat.h"
#include "grpcpp/security/auth_context.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {

namespace {

/// Whom the connection's certificate names: its first subject alternative name, else its common
/// name. Empty where the connection brought none.
std::string certificate_name(const grpc::CallbackServerContext& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return "";
  const std::vector<grpc::string_ref> names = auth->GetPeerIdentity();
  if (names.empty()) return "";
  return std::string(names.front().data(),
                     std::min(names.front().size(), wire::kMaxIdentityNameBytes));
}

}  // namespace

grpc::Status to_grpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()),
          std::string(status.message().substr(0, kMaxStatusMessageBytes))};
}

absl::StatusOr<std::string> authenticate(const Worker& worker,
                                         const grpc::CallbackServerContext& context,
                                         std::string_view method) {
  Credentials credentials;
  const auto found = context.client_metadata().find("authorization");
  if (found != context.client_metadata().end()) {
    credentials.authorization.emplace(found->second.data(), found->second.size());
  }
  credentials.certificate = certificate_name(context);
  absl::StatusOr<std::string> identity = worker.authenticator().identify(credentials);
  if (!identity.ok()) log_refusal(context, method, "", identity.status());
  return identity;
}

void log_refusal(const grpc::CallbackServerContext& context, std::string_view method,
                 std::string_view identity, const absl::Status& reason) {
  const std::string who =
      identity.empty()
          ? ""
          : str_cat(" of '", absl::CHexEscape({identity.data(), identity.size()}), "'");
  spdlog::warn("{}{} from {} refused: {}", method, who, context.peer(),
               absl::CHexEscape(reason.message()));
}

}  // namespace remora::server
