#include "client/remote/register.h"

#include "client/remote/backend.h"
#include "dispatch/error.h"

namespace remora::remote {
namespace {

absl::StatusOr<WorkerConnection*> worker_of(const dispatch::DeviceIdentity& identity) {
  if (identity.endpoint.empty()) return WorkerConnection::default_worker();
  return &WorkerConnection::at(identity.endpoint);
}

absl::StatusOr<std::unique_ptr<dispatch::Backend>> open_device(
    const dispatch::DeviceIdentity& identity) {
  REMORA_ASSIGN_OR_RETURN(WorkerConnection * worker, worker_of(identity));
  return RemoteBackend::open(*worker, identity.inner);
}

absl::StatusOr<int> count_devices() {
  REMORA_ASSIGN_OR_RETURN(WorkerConnection * worker, WorkerConnection::default_worker());
  REMORA_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, worker->session());
  return static_cast<int>(session->description().devices.size());
}

}  // namespace

void register_remote_backend(dispatch::Registry& registry) {
  dispatch::BackendFactory factory;
  factory.open = open_device;
  factory.count = count_devices;
  registry.add(BackendKind::kRemote, std::move(factory));
}

}  // namespace remora::remote
