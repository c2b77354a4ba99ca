// What called the ops of the latest windows sent to a worker, for errors that come back later with
// the op they began at. Bounded: an error of an older window keeps the op's name alone.
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/call_name.h"

namespace remora::remote {

class CallTable {
 public:
  /// The names of a window that is about to be sent; nothing if null.
  void add(uint64_t window, std::shared_ptr<const dispatch::CallNames> names);
  /// `status` under the name of what called the op at `origin`, if that is still known.
  absl::Status named(const dispatch::ErrorOrigin& origin, const absl::Status& status) const;

 private:
  using Names = std::shared_ptr<const dispatch::CallNames>;

  mutable absl::Mutex mutex_;  // guards all below
  absl::flat_hash_map<uint64_t, Names> names_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> order_ ABSL_GUARDED_BY(mutex_);  // windows, the oldest first
  size_t ops_ ABSL_GUARDED_BY(mutex_) = 0;              // of all windows
};

}  // namespace remora::remote
