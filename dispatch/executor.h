// The executor of one device: FIFO queues of tasks (windows, reads, uploads that arrive) and the
// rule of who runs them. One task runs at a time. A background thread runs tasks as they come; a
// thread that waits runs them itself when nobody else does. A program has one queue per device; a
// worker has one per session and device, served in turn.
//
// A queue whose first task needs a value that is still on its way from elsewhere (an upload, a
// transfer) is parked: others go on, and `wake` looks at it again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/backend.h"
#include "dispatch/call_name.h"
#include "dispatch/graph.h"
#include "dispatch/memory_account.h"
#include "dispatch/memory_owner.h"
#include "dispatch/plan_cache.h"
#include "dispatch/value.h"

namespace remora::dispatch {

/// A window on its way to the device.
struct WindowRun {
  GraphPtr graph;
  LiveSet live;
  std::vector<uint64_t> params;
  std::vector<Value> inputs;   // by external input index
  std::vector<bool> consumed;  // by external input index
  std::vector<Value> outputs;  // by output index; empty handles where not live
  uint64_t window = 0;
  bool ended_by_cut = false;
  std::shared_ptr<const CallNames> calls;  // by op; null on a worker, whose client has them
  std::shared_ptr<MemoryAccount> account;  // who pays; null for a local program
  /// Called once for each failed op, before its outputs are poisoned. May be empty.
  std::function<void(const GraphOp& op, const absl::Status& status)> on_failure;
};

/// A read of a value, answered through its callback.
struct ReadTask {
  Value value;
  ReadCallback done;
};

/// Runs when `input` is settled; for transfers and barriers. `input` may be empty. When the queue
/// is closed first, it is called all the same, with `input` as it then is: maybe not settled.
struct CallTask {
  Value input;
  std::function<void()> call;
};

using Task = std::variant<WindowRun, ReadTask, CallTask>;

class Executor {
 public:
  /// A FIFO of tasks. Created by `add_queue`.
  struct Queue;
  using QueuePtr = std::shared_ptr<Queue>;

  Executor(Backend& backend, PlanCache& plans);
  /// Answers what is queued with CANCELLED.
  ~Executor();
  /// For the end of the process: waits for the running task and starts no other. Threads that wait
  /// are given the time that it takes to end (kExitGrace_ms) before they are told; the main thread,
  /// which takes it down, is told at once.
  void stop();

  /// Memory that its tasks allocate is that owner's.
  QueuePtr add_queue(MemoryOwner owner = kNoOwner);
  /// Drops what the queue still holds: pending outputs are poisoned with `reason`, reads answered
  /// with it.
  void close_queue(const QueuePtr& queue, const absl::Status& reason);

  /// Appends a task; never blocks, never throws.
  void push(const QueuePtr& queue, Task task);
  /// Lets the background thread take what is queued, or runs it here where the backend runs inline.
  /// A thread that goes on to `run_until` need not call it.
  void kick();
  /// Runs queued tasks on this thread, or waits for whoever runs them, until `done()`. `done` is
  /// looked at under the executor's lock and after every task. False if the executor was stopped
  /// first: then nobody will make it true.
  bool run_until(absl::FunctionRef<bool()> done);
  /// Looks again at parked queues and at `run_until` conditions. Called after a value that does not
  /// come from this executor was settled.
  void wake();
  /// True if the queue is within its bounds (limits.h): windows, their bytes, and tasks of any
  /// kind.
  bool has_room(const QueuePtr& queue) const;
  /// Waits until it is.
  void wait_for_room(const QueuePtr& queue);
  /// Windows not yet executed in this queue.
  size_t pending_windows(const QueuePtr& queue) const;
  /// Waits until the queue has no task left and none is running.
  void wait_until_empty(const QueuePtr& queue);

 private:
  bool can_run() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Queue* next_runnable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void run_one() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool within_bounds(const Queue& queue) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void execute(Task& task);
  void background();

  Backend& backend_;
  PlanCache& plans_;
  mutable absl::Mutex mutex_;  // guards the queues and who runs
  std::vector<QueuePtr> queues_ ABSL_GUARDED_BY(mutex_);
  size_t next_queue_ ABSL_GUARDED_BY(mutex_) = 0;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;       // a task is running
  std::thread::id runner_ ABSL_GUARDED_BY(mutex_);  // on this thread
  bool offered_ ABSL_GUARDED_BY(mutex_) = false;  // the background thread may take what is runnable
  bool flush_due_ ABSL_GUARDED_BY(mutex_) =
      false;  // a hard end ran: flush the backend once nothing is left
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace remora::dispatch
