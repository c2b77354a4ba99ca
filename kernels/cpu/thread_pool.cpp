#include "kernels/cpu/thread_pool.h"

#include <algorithm>

#include "kernels/cpu/limits.h"

namespace remora::cpu {

ThreadPool::ThreadPool(int threads) {
  const int workers = std::clamp(threads, 1, kMaxThreads) - 1;
  threads_.reserve(static_cast<size_t>(workers));
  for (int slot = 1; slot <= workers; ++slot) threads_.emplace_back([this, slot] { worker(slot); });
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    started_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Loop::work(int slot) {
  for (;;) {
    const int64_t block = next.fetch_add(1, std::memory_order_relaxed);
    if (block >= blocks) return;
    run(block, slot);
  }
}

void ThreadPool::parallel_for(int64_t blocks, Block run) {
  Loop loop{run, blocks, {0}, 0};
  if (blocks <= 1 || threads_.empty()) return loop.work(0);
  {
    absl::MutexLock lock(&mutex_);
    if (loop_ != nullptr) {
      // Another caller's loop owns the workers (or this is a loop inside a loop): slots are per
      // loop, so running alone under slot 0 is safe.
      mutex_.Unlock();
      loop.work(0);
      mutex_.Lock();
      return;
    }
    loop_ = &loop;
    ++generation_;
    const auto wanted = std::min<int64_t>(blocks - 1, static_cast<int64_t>(threads_.size()));
    for (int64_t i = 0; i < wanted; ++i) started_.Signal();
  }
  loop.work(0);
  absl::MutexLock lock(&mutex_);
  loop_ = nullptr;
  while (loop.helpers > 0) finished_.Wait(&mutex_);
}

void ThreadPool::worker(int slot) {
  uint64_t seen = 0;
  absl::MutexLock lock(&mutex_);
  for (;;) {
    while (!stopping_ && (loop_ == nullptr || generation_ == seen)) started_.Wait(&mutex_);
    if (stopping_) return;
    seen = generation_;
    Loop* loop = loop_;
    ++loop->helpers;
    mutex_.Unlock();
    loop->work(slot);
    mutex_.Lock();
    if (--loop->helpers == 0) finished_.SignalAll();
  }
}

}  // namespace remora::cpu
