// Abseil's deadlock detector: some distributions' builds have it on, where it costs a graph search
// on every lock and aborts the process on a cycle of lock orders. The sanitizer builds keep it; a
// program in use must not pay or abort.
#pragma once

#include "absl/synchronization/mutex.h"

namespace remora::dispatch {

/// Turns the detector off for this process, except in sanitizer builds. Called once, early, by
/// whoever starts: the registry of a program, the main function of a worker.
inline void set_lock_checks() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace remora::dispatch
