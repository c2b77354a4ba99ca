// A session's uploads: brings announcements of the op stream and calls of the bulk plane together,
// whichever comes first. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/value.h"
#include "server/upload.h"

namespace remora::server {

using UploadPtr = std::shared_ptr<Upload>;

class UploadTable {
 public:
  /// Called once, on any thread and without a lock.
  using Claim = std::function<void(absl::StatusOr<UploadPtr>)>;

  /// RESOURCE_EXHAUSTED beyond kMaxOpenUploads.
  absl::Status check_room() const;
  /// Adds an announced upload and hands it to a call that is already waiting. If that call has gone
  /// away already, the upload fails with its reason.
  void announce(dispatch::ValueId id, UploadPtr upload);
  /// The upload of `id` ended, or was refused at its announcement: it makes room and late calls are
  /// told.
  void ended(dispatch::ValueId id, const absl::Status& status);

  /// Gives the upload to a call, now or when it is announced. ALREADY_EXISTS if a call has it or
  /// had it, RESOURCE_EXHAUSTED if too many calls wait.
  void claim(dispatch::ValueId id, Claim caller);
  /// True if the upload of `id` has ended, so that the op stream says how.
  bool has_ended(dispatch::ValueId id) const;
  /// A waiting call goes away.
  void cancel_claim(dispatch::ValueId id, const absl::Status& reason);

  /// Fails everything; later calls are told `reason`.
  void close(const absl::Status& reason);

 private:
  struct Entry {
    UploadPtr upload;
    bool claimed = false;
  };
  void remember_end(dispatch::ValueId id, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;  // guards all below
  absl::flat_hash_map<uint64_t, Entry> open_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Claim> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> ended_order_ ABSL_GUARDED_BY(mutex_);  // oldest first
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace remora::server
