// A pool that runs the blocks of one loop on several threads. Which thread runs a block is never
// part of a result: blocks are cut by shape, and each writes its own outputs. Idle threads sleep.
//
// Any thread may call `parallel_for`; while one loop is running, a second one runs on its caller
// alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"

namespace remora::cpu {

class ThreadPool {
 public:
  /// Runs one block. `slot` in [0, threads()) names the thread that runs it, for scratch memory of
  /// its own.
  using Block = absl::FunctionRef<void(int64_t block, int slot)>;

  /// `threads` counts the caller: 1 starts none. Fewer run where the system refuses a thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(threads_.size()) + 1; }
  /// Calls `run` once for each block in [0, blocks) and returns when all are done. `run` must not
  /// throw.
  void parallel_for(int64_t blocks, Block run);

 private:
  /// A loop in progress; lives on its caller's stack.
  struct Loop {
    Block run;
    int64_t blocks;
    std::atomic<int64_t> next{0};
    int helpers = 0;  // workers that hold the loop; guarded by the pool's mutex
    void work(int slot);
  };

  bool start(Loop& loop);
  void worker(int slot);

  std::mutex mutex_;  // guards the loop's hand-over
  std::condition_variable started_;
  std::condition_variable finished_;
  Loop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace remora::cpu
