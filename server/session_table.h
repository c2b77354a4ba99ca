// The worker's open sessions and the identities behind them. One thread of its own looks for
// sessions whose clients have given no sign for too long. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/options.h"
#include "server/resumer.h"
#include "server/session.h"

namespace remora::server {

/// What every session of a worker starts with.
struct SessionRules {
  std::string instance;
  int64_t session_quota_bytes = 0;
  SessionTimeouts timeouts;
  IdentityQuota identity_quota;                      // where nothing else is said
  std::map<std::string, IdentityLimits> identities;  // what is said of single ones
};

class SessionTable {
 public:
  SessionTable(DeviceList devices, SessionRules rules);
  /// Ends every session and waits until all have let go.
  ~SessionTable();

  /// A new session of this identity over `stream`. RESOURCE_EXHAUSTED beyond kMaxSessions or the
  /// identity's own number, UNAVAILABLE while draining, or as `devices_of` has it.
  absl::StatusOr<std::shared_ptr<Session>> open(std::weak_ptr<SessionStream> stream,
                                                std::string peer, const std::string& identity);
  /// The session of this name; NOT_FOUND if it has ended, never was or is another identity's.
  absl::StatusOr<std::shared_ptr<Session>> find(std::string_view name,
                                                std::string_view identity) const;
  /// The devices that an identity may use, whether it has sessions or not: at least one.
  /// FAILED_PRECONDITION where none of its devices is served.
  absl::StatusOr<DeviceList> devices_of(const std::string& identity) const;
  /// The quota of an identity, likewise.
  IdentityQuota quota_of(const std::string& identity) const;
  /// Ends every session with `reason`; further ones are refused with it.
  void drain(const absl::Status& reason);
  size_t size() const;

 private:
  /// An identity with sessions.
  struct Present {
    std::shared_ptr<Identity> identity;
    int64_t sessions = 0;
  };
  void remove(const std::string& name);
  std::vector<std::shared_ptr<Session>> all() const;
  void look_for_overdue();

  const std::shared_ptr<Resumer> resumer_ = std::make_shared<Resumer>();  // sessions hold it too
  const DeviceList devices_;
  const SessionRules rules_;
  mutable absl::Mutex mutex_;  // guards all below
  absl::flat_hash_map<std::string, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Present> present_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  dispatch::MemoryOwner last_owner_ ABSL_GUARDED_BY(mutex_) = dispatch::kNoOwner;
  absl::Status drained_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread overdue_;  // runs look_for_overdue
};

/// `count` bytes nobody can guess.
std::string random_bytes(size_t count);

}  // namespace remora::server
