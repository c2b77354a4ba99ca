// This process's connection to one worker: opens its session at first use and ends it at
// `disconnect()` or at exit. There is one per address; connections are never destroyed.
// Thread-safe. Opening and ending wait for gRPC, so neither happens in a read callback: `session()`
// answers an error there, `disconnect()` may not be called.
//
// A session that died stays: whatever its devices are asked answers with the reason, until
// `disconnect()`, so that a program never goes on silently with a worker that has lost its tensors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/remote/connection.h"
#include "client/remote/session.h"

namespace remora::remote {

class WorkerConnection {
 public:
  /// The connection to "host:port", case ignored, or "unix:/path"; made at the first call, opens
  /// nothing.
  static WorkerConnection& at(std::string_view address);
  /// The first worker of REMORA_WORKERS, or where that is not set the one on this machine's default
  /// socket; FAILED_PRECONDITION when there is neither.
  static absl::StatusOr<WorkerConnection*> default_worker();
  /// Every worker of REMORA_WORKERS in order, or where that is not set the one on this machine's
  /// default socket, if there is one.
  static std::vector<WorkerConnection*> environment_workers();
  /// Ends every session; at exit.
  static void close_all();

  explicit WorkerConnection(std::string address) : address_(std::move(address)) {}

  const std::string& address() const { return address_; }
  /// The connection that stands for this one: another, once this address has turned out to lead to
  /// a worker to which that has a session with the same credentials; else this.
  WorkerConnection& resolved();
  /// The session, opened if there is none. Waits at most the worker's connect deadline for each of
  /// its two first answers. The reason if it could not be opened or has died. UNAVAILABLE instead
  /// of opening one in a read callback.
  absl::StatusOr<std::shared_ptr<Session>> session();
  /// The session, dead or alive; null before the first use and after `disconnect`.
  std::shared_ptr<Session> current() const;
  /// Ends the session, if there is one; the next use opens another.
  void disconnect(const absl::Status& reason, int deadline_ms);
  /// Sessions that have ended and are not yet destroyed; for tests of their lifetime.
  size_t ended_sessions() const;
  /// Counters of all sessions of this connection so far.
  dispatch::WireStats stats() const;

 private:
  absl::StatusOr<std::shared_ptr<Session>> open();
  /// From now on another connection with a living session to that worker, under the same
  /// credentials, stands for this one: its session, or null where there is none.
  std::shared_ptr<Session> join(const WorkerDescription& worker, const WorkerLink& link);
  /// Destroys the ended sessions that nobody holds any more.
  void destroy_ended();

  const std::string address_;
  absl::Mutex opening_;        // held while a session is opened or ended; taken before mutex_
  mutable absl::Mutex mutex_;  // guards all below
  std::shared_ptr<Session> current_ ABSL_GUARDED_BY(mutex_);
  WorkerConnection* same_as_ ABSL_GUARDED_BY(mutex_) = nullptr;  // set once; then no current_
  // Ended ones that gRPC or a storage still holds. They are destroyed here, on a thread of the
  // program.
  std::vector<std::shared_ptr<Session>> ended_ ABSL_GUARDED_BY(mutex_);
  dispatch::WireStats ended_stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace remora::remote
