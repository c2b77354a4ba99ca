// FlowRoom: a bounded number of bytes that sessions share, taken in the order of their streams.
// Who finds no room waits, and is told when others have left. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace remora::server {

class Session;

class FlowRoom {
 public:
  explicit FlowRoom(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  FlowRoom(const FlowRoom&) = delete;

  int64_t limit_bytes() const { return limit_bytes_; }
  /// Counts bytes; the first always fits, whatever their number. False if they have to wait: the
  /// session is then told of progress (`Session::made_progress`) when others have left.
  bool take(int64_t bytes, const std::shared_ptr<Session>& session);
  void give_back(int64_t bytes);

 private:
  const int64_t limit_bytes_;
  absl::Mutex mutex_;  // guards all below
  int64_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By session number: those that wait for room.
  absl::flat_hash_map<uint64_t, std::weak_ptr<Session>> waiting_ ABSL_GUARDED_BY(mutex_);
};

/// Bytes taken from a room, given back when this dies. Empty when moved from.
class FlowShare {
 public:
  FlowShare() = default;
  FlowShare(std::shared_ptr<FlowRoom> room, int64_t bytes)
      : room_(std::move(room)), bytes_(bytes) {}
  FlowShare(FlowShare&& other) noexcept : room_(std::move(other.room_)), bytes_(other.bytes_) {}
  FlowShare& operator=(FlowShare&& other) noexcept {
    std::swap(room_, other.room_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FlowShare() {
    if (room_ != nullptr) room_->give_back(bytes_);
  }

 private:
  std::shared_ptr<FlowRoom> room_;
  int64_t bytes_ = 0;
};

}  // namespace remora::server
