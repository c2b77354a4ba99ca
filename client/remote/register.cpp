#include "client/remote/register.h"

#include "client/remote/backend.h"
#include "dispatch/device_text.h"
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

/// How programs name a device of a worker: by its own text where that is one of this build's.
dispatch::DeviceIdentity identity_of(const WorkerConnection& worker, const RemoteDevice& device) {
  dispatch::DeviceIdentity identity{.kind = BackendKind::kRemote};
  identity.endpoint = worker.address();
  if (const auto inner = dispatch::parse_local_device(device.text); inner.ok())
    identity.inner = dispatch::device_text(*inner);
  return identity;
}

absl::StatusOr<dispatch::DeviceIdentity> canonical(const dispatch::DeviceIdentity& identity) {
  REMORA_ASSIGN_OR_RETURN(WorkerConnection * worker, worker_of(identity));
  REMORA_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, worker->session());
  const WorkerDescription& description = session->description();
  REMORA_ASSIGN_OR_RETURN(const uint32_t device, description.find_device(identity.inner));
  return identity_of(worker->resolved(), description.devices[device]);
}

/// Those of `worker` that are of `kind`, or all.
void append_devices(WorkerConnection& worker, std::optional<BackendKind> kind,
                    std::vector<dispatch::DeviceIdentity>& devices) {
  const absl::StatusOr<std::shared_ptr<Session>> session = worker.session();
  if (!session.ok()) return;
  for (const RemoteDevice& device : (*session)->description().devices) {
    const auto inner = dispatch::parse_local_device(device.text);
    if (!inner.ok() || (kind.has_value() && inner->kind != *kind)) continue;
    devices.push_back(identity_of(worker, device));
  }
}

std::vector<dispatch::DeviceIdentity> enumerate(const DeviceFilter& filter) {
  std::vector<WorkerConnection*> workers;
  if (filter.address().empty()) {
    workers = WorkerConnection::environment_workers();
  } else {
    workers = {&WorkerConnection::at(filter.address())};
  }
  std::vector<dispatch::DeviceIdentity> devices;
  for (WorkerConnection* const worker : workers) {
    if (filter.inner().empty()) append_devices(*worker, std::nullopt, devices);
    for (const BackendKind kind : filter.inner()) append_devices(*worker, kind, devices);
  }
  return devices;
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
  factory.enumerate = enumerate;
  factory.canonical = canonical;
  registry.add(BackendKind::kRemote, std::move(factory));
}

}  // namespace remora::remote
