#include "client/remote/storage.h"

#include "client/remote/session.h"

namespace remora::remote {

RemoteStorage::RemoteStorage(std::shared_ptr<Session> session, dispatch::ValueId id,
                             uint32_t device, int64_t bytes)
    : session_(std::move(session)), id_(id), device_(device), bytes_(bytes) {}

RemoteStorage::RemoteStorage(std::shared_ptr<Session> session, dispatch::ValueId id,
                             uint32_t device, dispatch::HostData data)
    : session_(std::move(session)),
      id_(id),
      device_(device),
      bytes_(data.spec.byte_size()),
      unsent_(std::move(data)) {}

RemoteStorage::~RemoteStorage() { session_->drop(*this); }

}  // namespace remora::remote
