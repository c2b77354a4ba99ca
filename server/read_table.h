// A session's reads between question and answer, and the results too large for the op stream, kept
// until the client has fetched them. Thread-safe: the strand asks, executors answer, the bulk plane
// fetches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/buffer.h"
#include "dispatch/memory_account.h"

namespace remora::server {

/// Bytes of a read that wait to be fetched, and what they cost the session.
struct KeptRead {
  dispatch::HostData data;
  dispatch::MemoryCharge charge;
};
using KeptReadPtr = std::shared_ptr<const KeptRead>;

class ReadTable {
 public:
  /// Opens a read or sync. ALREADY_EXISTS for a number in use, RESOURCE_EXHAUSTED beyond
  /// kMaxOpenReads.
  absl::Status open(uint64_t number);
  /// The read was answered in the op stream.
  void answered(uint64_t number);
  /// The read's bytes wait for the bulk plane. After `close` they are let go.
  void keep(uint64_t number, KeptReadPtr read);
  /// The bytes, for a call named by its address; NOT_FOUND where nothing is kept under this number.
  /// `close` calls `stop`, without a lock, unless the call has left before.
  absl::StatusOr<KeptReadPtr> fetch(uint64_t number, const void* call, std::function<void()> stop);
  /// The call has let the bytes go.
  void leave(const void* call);
  /// The client has it all.
  void fetched(uint64_t number);
  /// Lets everything go, and has the calls that still fetch do so.
  void close();

 private:
  mutable absl::Mutex mutex_;                                   // guards all below
  absl::flat_hash_set<uint64_t> open_ ABSL_GUARDED_BY(mutex_);  // kept ones included
  absl::flat_hash_map<uint64_t, KeptReadPtr> kept_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const void*, std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace remora::server
