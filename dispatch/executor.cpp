#include "dispatch/executor.h"

#include <unistd.h>

#include <exception>
#include <utility>

#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window_execution.h"

namespace remora::dispatch {

struct Executor::Queue {
  explicit Queue(MemoryOwner of) : owner(of) {}
  const MemoryOwner owner;
  std::deque<Task> tasks;     // all fields below guarded by the executor's mutex
  size_t settled_inputs = 0;  // of the first task, already seen settled
  size_t windows = 0;
  int64_t bytes = 0;
  bool closed = false;
  absl::Status close_reason;
};

namespace {

/// As far as it matters for a queue's bounds: a worker's clients may name any shape.
int64_t output_bytes(const WindowRun& run) {
  int64_t bytes = 0;
  for (const Value& output : run.outputs) {
    if (output) bytes = capped_sum(bytes, output->spec().byte_size(), kMaxQueuedBytes);
  }
  return bytes;
}

/// Answers a task that will not run.
void abandon(Task& task, const absl::Status& reason) {
  if (auto* window = std::get_if<WindowRun>(&task)) {
    poison_window(*window, reason);
  } else if (auto* read = std::get_if<ReadTask>(&task)) {
    read->done(reason);
  } else {
    std::get<CallTask>(task).call();
  }
}

/// Hard ends reach the device at once.
bool wants_flush(const Task& task) {
  const auto* window = std::get_if<WindowRun>(&task);
  return window == nullptr || !window->ended_by_cut;
}

}  // namespace

Executor::Executor(Backend& backend, PlanCache& plans) : backend_(backend), plans_(plans) {}

Executor::~Executor() {
  stop();
  std::vector<QueuePtr> queues;
  {
    const absl::MutexLock lock(&mutex_);
    queues = queues_;
  }
  for (const QueuePtr& queue : queues) {
    close_queue(queue, absl::CancelledError("the device was closed"));
  }
}

void Executor::stop() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    // A task may end the process: it does not wait for itself.
    const auto idle = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !busy_ || runner_ == std::this_thread::get_id();
    };
    mutex_.Await(absl::Condition(&idle));
    thread = std::move(thread_);
  }
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else if (thread.joinable()) {
    thread.join();
  }
}

Executor::QueuePtr Executor::add_queue(MemoryOwner owner) {
  auto queue = std::make_shared<Queue>(owner);
  const absl::MutexLock lock(&mutex_);
  queues_.push_back(queue);
  return queue;
}

void Executor::close_queue(const QueuePtr& queue, const absl::Status& reason) {
  std::deque<Task> tasks;
  {
    const absl::MutexLock lock(&mutex_);
    std::erase(queues_, queue);
    queue->closed = true;
    queue->close_reason = reason;
    tasks.swap(queue->tasks);
    queue->windows = 0;
    queue->bytes = 0;
  }
  for (Task& task : tasks) abandon(task, reason);
}

void Executor::push(const QueuePtr& queue, Task task) {
  absl::Status closed;
  {
    const absl::MutexLock lock(&mutex_);
    if (!queue->closed) {
      if (const auto* window = std::get_if<WindowRun>(&task)) {
        ++queue->windows;
        queue->bytes += output_bytes(*window);
      }
      queue->tasks.push_back(std::move(task));
      return;
    }
    closed = queue->close_reason;
  }
  abandon(task, closed);
}

Executor::Queue* Executor::next_runnable() const {
  for (size_t i = 0; i < queues_.size(); ++i) {
    Queue& queue = *queues_[(next_queue_ + i) % queues_.size()];
    if (queue.tasks.empty()) continue;
    const Task& task = queue.tasks.front();
    bool ready = true;
    if (const auto* window = std::get_if<WindowRun>(&task)) {
      while (queue.settled_inputs < window->inputs.size() &&
             window->inputs[queue.settled_inputs]->settled()) {
        ++queue.settled_inputs;
      }
      ready = queue.settled_inputs == window->inputs.size();
    } else if (const auto* read = std::get_if<ReadTask>(&task)) {
      ready = read->value->settled();
    } else if (const auto& input = std::get<CallTask>(task).input) {
      ready = input->settled();
    }
    if (ready) return &queue;
  }
  return nullptr;
}

bool Executor::can_run() const { return !stopping_ && !busy_ && next_runnable() != nullptr; }

void Executor::run_one() {
  Queue* queue = next_runnable();
  // The queue may be closed, and so freed by its owner, while its task runs: hold it.
  QueuePtr held;
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].get() != queue) continue;
    held = queues_[i];
    next_queue_ = (i + 1) % queues_.size();
  }
  {
    Task task = std::move(queue->tasks.front());
    queue->tasks.pop_front();
    queue->settled_inputs = 0;
    busy_ = true;
    runner_ = std::this_thread::get_id();
    flush_due_ = flush_due_ || wants_flush(task);
    int64_t bytes = 0;
    const bool is_window = std::holds_alternative<WindowRun>(task);
    if (is_window) bytes = output_bytes(std::get<WindowRun>(task));
    mutex_.Unlock();
    const MemoryOwnerScope scope(held->owner);
    execute(task);
    task = CallTask{};  // what it held goes before anyone can see it done
    mutex_.Lock();
    if (is_window && !held->closed) {
      --held->windows;
      held->bytes -= bytes;
    }
  }
  if (next_runnable() == nullptr && flush_due_) {
    flush_due_ = false;
    mutex_.Unlock();
    backend_.flush();
    mutex_.Lock();
  }
  if (next_runnable() == nullptr) offered_ = false;
  busy_ = false;
}

void Executor::execute(Task& task) {
  if (auto* window = std::get_if<WindowRun>(&task)) {
    try {
      execute_window(backend_, plans_, *window);
    } catch (const std::exception& error) {
      poison_window(*window,
                    absl::ResourceExhaustedError(str_cat("a window failed: ", error.what())));
    }
  } else if (auto* read = std::get_if<ReadTask>(&task)) {
    if (read->value->poisoned()) {
      read->done(read->value->error());
    } else {
      backend_.download(read->value->buffer(), std::move(read->done));
    }
  } else {
    std::get<CallTask>(task).call();
  }
}

void Executor::kick() {
  const absl::MutexLock lock(&mutex_);
  offered_ = true;
  if (backend_.runs_inline()) {
    while (can_run()) run_one();
  }
  // An inline backend needs the background thread only for what is left: parked, or behind another
  // runner.
  if (!thread_.joinable() && !stopping_) {
    for (const QueuePtr& queue : queues_) {
      if (queue->tasks.empty()) continue;
      thread_ = std::thread([this] { background(); });
      break;
    }
  }
}

bool Executor::run_until(absl::FunctionRef<bool()> done) {
  const absl::MutexLock lock(&mutex_);
  const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || done() || can_run();
  };
  for (;;) {
    mutex_.Await(absl::Condition(&ready));
    if (stopping_) break;
    if (done()) return true;
    run_one();
  }
  const bool takes_the_process_down = getpid() == gettid();
  const auto never = [] { return false; };
  if (!takes_the_process_down) {
    mutex_.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(kExitGrace_ms));
  }
  return false;
}

void Executor::background() {
  const absl::MutexLock lock(&mutex_);
  const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (offered_ && can_run());
  };
  for (;;) {
    mutex_.Await(absl::Condition(&ready));
    if (stopping_) return;
    run_one();
  }
}

// Taking and leaving the lock makes every waiter's condition be looked at again.
void Executor::wake() {
  const absl::MutexLock lock(&mutex_);
  offered_ = true;
}

bool Executor::within_bounds(const Queue& queue) const {
  return queue.closed || (queue.windows <= kMaxQueuedWindows && queue.bytes <= kMaxQueuedBytes &&
                          queue.tasks.size() <= kMaxQueuedTasks);
}

bool Executor::has_room(const QueuePtr& queue) const {
  const absl::MutexLock lock(&mutex_);
  return within_bounds(*queue);
}

void Executor::wait_for_room(const QueuePtr& queue) {
  run_until([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return within_bounds(*queue); });
}

void Executor::wait_until_empty(const QueuePtr& queue) {
  run_until([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return queue->tasks.empty() && !busy_; });
}

size_t Executor::pending_windows(const QueuePtr& queue) const {
  const absl::MutexLock lock(&mutex_);
  return queue->windows;
}

}  // namespace remora::dispatch
