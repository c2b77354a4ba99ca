#include "dispatch/fork_guard.h"

#include <pthread.h>

#include <atomic>

#include "dispatch/error.h"

namespace remora::dispatch {
namespace {

std::atomic<bool> forked{false};

}  // namespace

bool in_forked_child() { return forked.load(std::memory_order_relaxed); }

void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
}

void throw_if_forked() {
  if (!in_forked_child()) return;
  throw Error(absl::FailedPreconditionError(
      "this process was forked from one that had opened devices; devices work in the parent, and "
      "in a "
      "child that was forked before any device was opened or that has called exec()"));
}

}  // namespace remora::dispatch
