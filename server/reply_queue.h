// What a session has to say to its client: acks, read results and errors, gathered into numbered
// frames when the stream is ready to write one. Thread-safe: executors add, the stream takes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "remora/v1/worker.pb.h"

namespace remora::server {

/// The wire form of a status; long messages are cut.
v1::Status wire_status(const absl::Status& status);

class ReplyQueue {
 public:
  void add_welcome(v1::Welcome welcome);
  void add_read(v1::ReadReply reply);
  /// Left out when too many wait already.
  void add_error(v1::OpError error);
  /// A client's frame of so many bytes has arrived; acks are owed for it.
  void frame_arrived(uint64_t sequence, size_t bytes);

  /// Fills `frame` with what waits. False if nothing is due: an ack alone waits for company.
  bool take(v1::WorkerFrame& frame);
  /// Number of the last frame taken.
  uint64_t last_sequence() const;
  /// Bytes of the replies that wait.
  size_t waiting_bytes() const;

 private:
  bool ack_is_due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;  // guards all below
  std::deque<v1::Welcome> welcome_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::ReadReply> reads_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::OpError> errors_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t received_ ABSL_GUARDED_BY(mutex_) = 0;  // last client frame
  uint64_t acked_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t unacked_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace remora::server
