// One upload: announced in the op stream, its bytes brought by a call on the bulk plane. The tensor
// becomes ready when both have come: all bytes, and its turn in the device's queue, where the
// session's quota is asked. So a refusal depends on the order of the stream and not on how fast
// bytes arrive. Room for them in the host's memory was found before the announcement was taken.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/memory_account.h"
#include "dispatch/memory_owner.h"
#include "dispatch/value.h"
#include "proto/chunk.h"
#include "server/flow_room.h"
#include "server/served_devices.h"

namespace remora::server {

class Upload {
 public:
  /// Called once, on any thread and without a lock, when the tensor is ready or poisoned with
  /// `status`.
  using Settled = std::function<void(const absl::Status& status)>;

  Upload(dispatch::Value value, const ServedDevice& device,
         std::shared_ptr<dispatch::MemoryAccount> account, dispatch::MemoryOwner owner,
         FlowShare staging, Settled settled);

  // Called by the bulk plane, by one call alone. A status that is not OK has poisoned the tensor.

  /// Allocates for the bytes. DATA_LOSS where `announced_bytes` is not the tensor's size.
  absl::Status begin(uint64_t announced_bytes);
  /// Takes the next chunk. DATA_LOSS for a wrong offset, checksum or count.
  absl::Status append(const wire::ChunkView& chunk);
  /// The call has ended: DATA_LOSS if bytes are missing.
  absl::Status finish();
  uint64_t received_bytes() const;

  // Called by the session.

  /// The device's queue has come to the announcement.
  void take_turn();
  /// Poisons the tensor unless it is settled: a broken call, or the session's end.
  void fail(const absl::Status& status);

 private:
  std::string name() const;
  absl::Status fail_with(absl::Status status);
  void settle_if_ready();

  const dispatch::Value value_;
  const ServedDevice& device_;
  const std::shared_ptr<dispatch::MemoryAccount> account_;
  const dispatch::MemoryOwner owner_;  // of the tensor's memory
  const int64_t byte_size_;

  mutable absl::Mutex mutex_;                // guards all below
  Settled settled_ ABSL_GUARDED_BY(mutex_);  // empty once called
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  FlowShare staging_ ABSL_GUARDED_BY(mutex_);
  dispatch::MemoryCharge charge_ ABSL_GUARDED_BY(mutex_);
  dispatch::HostData data_ ABSL_GUARDED_BY(mutex_);
  // Where data_ is written before anybody else sees it.
  std::span<std::byte> room_ ABSL_GUARDED_BY(mutex_);
  int64_t received_ ABSL_GUARDED_BY(mutex_) = 0;
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;
  bool turn_taken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace remora::server
