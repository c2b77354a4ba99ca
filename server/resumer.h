// Goes on with sessions that had to wait, when their devices have made progress. One thread for all
// sessions, so that executors do not decode frames. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace remora::server {

class Session;

class Resumer {
 public:
  Resumer() = default;
  ~Resumer() { stop(); }
  Resumer(const Resumer&) = delete;

  /// Calls `Session::advance` soon. A session asks once until it is called, so there are at most as
  /// many entries as sessions.
  void resume(std::weak_ptr<Session> session);
  /// Ends the thread. Must not be called on it; later calls of `resume` do nothing.
  void stop();

 private:
  void work();

  absl::Mutex mutex_;  // guards all below
  std::deque<std::weak_ptr<Session>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // started at first use
};

}  // namespace remora::server
