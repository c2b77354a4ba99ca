// The worker's open sessions. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/resumer.h"
#include "server/session.h"

namespace remora::server {

class SessionTable {
 public:
  SessionTable(std::span<const ServedDevice> devices, std::string instance, int64_t quota_bytes)
      : devices_(devices), instance_(std::move(instance)), quota_bytes_(quota_bytes) {}
  /// Ends every session and waits until all have let go.
  ~SessionTable();

  /// A new session over `stream`. RESOURCE_EXHAUSTED beyond kMaxSessions, UNAVAILABLE while
  /// draining.
  absl::StatusOr<std::shared_ptr<Session>> open(std::weak_ptr<SessionStream> stream,
                                                std::string peer);
  /// The session of this name; NOT_FOUND if it has ended or never was.
  absl::StatusOr<std::shared_ptr<Session>> find(std::string_view name) const;
  /// Ends every session with `reason`; further ones are refused with it.
  void drain(const absl::Status& reason);
  size_t size() const;

 private:
  void remove(const std::string& name);

  const std::shared_ptr<Resumer> resumer_ = std::make_shared<Resumer>();  // sessions hold it too
  const std::span<const ServedDevice> devices_;
  const std::string instance_;
  const int64_t quota_bytes_;
  mutable absl::Mutex mutex_;  // guards all below
  absl::flat_hash_map<std::string, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status drained_ ABSL_GUARDED_BY(mutex_);
};

/// `count` bytes nobody can guess.
std::string random_bytes(size_t count);

}  // namespace remora::server
