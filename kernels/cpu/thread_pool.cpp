#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <system_error>

#include "kernels/cpu/limits.h"

namespace remora::cpu {

ThreadPool::ThreadPool(int threads) {
  const int workers = std::clamp(threads, 1, kMaxThreads) - 1;
  threads_.reserve(static_cast<size_t>(workers));
  try {
    for (int slot = 1; slot <= workers; ++slot)
      threads_.emplace_back([this, slot] { worker(slot); });
  } catch (const std::system_error&) {
    // The system gives no more threads; those that started are enough, only slower.
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
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
  if (blocks <= 1 || threads_.empty() || !start(loop)) return loop.work(0);
  loop.work(0);
  std::unique_lock lock(mutex_);
  loop_ = nullptr;
  finished_.wait(lock, [&] { return loop.helpers == 0; });
}

/// False while another caller's loop has the workers, or this is a loop inside a loop. Slots are
/// per loop, so the caller may then run alone under slot 0.
bool ThreadPool::start(Loop& loop) {
  {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr) return false;
    loop_ = &loop;
    ++generation_;
  }
  const auto wanted = std::min<int64_t>(loop.blocks - 1, static_cast<int64_t>(threads_.size()));
  for (int64_t i = 0; i < wanted; ++i) started_.notify_one();
  return true;
}

void ThreadPool::worker(int slot) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return stopping_ || (loop_ != nullptr && generation_ != seen); });
    if (stopping_) return;
    seen = generation_;
    Loop* loop = loop_;
    ++loop->helpers;
    lock.unlock();
    loop->work(slot);
    lock.lock();
    if (--loop->helpers == 0) finished_.notify_all();
  }
}

}  // namespace remora::cpu
