// A tensor on a worker, as the program holds it: an id of a session. Destroying it tells the
// worker, with the next frame, that the value is no longer needed.
#pragma once

#include <memory>
#include <optional>

#include "dispatch/buffer.h"
#include "dispatch/value.h"

namespace remora::remote {

class Session;

class RemoteStorage final : public dispatch::Storage {
 public:
  /// A value the worker knows or will know from the op stream.
  RemoteStorage(std::shared_ptr<Session> session, dispatch::ValueId id, uint32_t device,
                int64_t bytes);
  /// A value whose host data waits here until something uses it, so that what is never used is
  /// never sent.
  RemoteStorage(std::shared_ptr<Session> session, dispatch::ValueId id, uint32_t device,
                dispatch::HostData data);
  ~RemoteStorage() override;
  RemoteStorage(const RemoteStorage&) = delete;

  const std::shared_ptr<Session>& session() const { return session_; }
  dispatch::ValueId id() const { return id_; }
  uint32_t device() const { return device_; }
  int64_t bytes() const { return bytes_; }

 private:
  friend class Session;

  const std::shared_ptr<Session> session_;
  const dispatch::ValueId id_;
  const uint32_t device_;
  const int64_t bytes_;
  // Both guarded by the session's mutex.
  std::optional<dispatch::HostData> unsent_;
  bool ended_ = false;  // a run consumed it: the worker's id is gone already
};

}  // namespace remora::remote
