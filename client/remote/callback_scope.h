// Marks a thread of gRPC while it runs a session's callbacks. gRPC has few such threads and the
// acks that make room come through them, so a wait there could wait for itself: whatever bounds a
// session by waiting lets these through. They come from answers, so the open reads bound them.
#pragma once

namespace remora::remote {

class CallbackScope {
 public:
  CallbackScope() : outer_(inside_) { inside_ = true; }
  ~CallbackScope() { inside_ = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  /// True on a thread that is in a scope.
  static bool inside() { return inside_; }

 private:
  static inline thread_local bool inside_ = false;
  const bool outer_;
};

}  // namespace remora::remote
