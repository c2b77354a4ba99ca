#include "kernels/cpu/thread_pool.h"

#include <numeric>

#include "gtest/gtest.h"

namespace remora::cpu {
namespace {

TEST(ThreadPool, EveryBlockRunsExactlyOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t blocks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(blocks));
      pool.parallel_for(blocks, [&](int64_t block, int) { ++runs[static_cast<size_t>(block)]; });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, SlotsAreNeverSharedAtOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> shared = false;
  for (int repeat = 0; repeat < 50; ++repeat) {
    pool.parallel_for(200, [&](int64_t, int slot) {
      if (++inside[static_cast<size_t>(slot)] != 1) shared = true;
      --inside[static_cast<size_t>(slot)];
    });
  }
  EXPECT_FALSE(shared);
}

TEST(ThreadPool, WorkIsSpreadOverThreadsThatWait) {
  ThreadPool pool(2);
  // Each block waits for the other, so one thread alone could not finish.
  std::atomic<int> arrived = 0;
  pool.parallel_for(2, [&](int64_t, int) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, ALoopInsideALoopRunsOnItsCaller) {
  ThreadPool pool(3);
  std::atomic<int> total = 0;
  pool.parallel_for(8, [&](int64_t, int) {
    pool.parallel_for(5, [&](int64_t, int slot) {
      EXPECT_EQ(slot, 0);
      ++total;
    });
  });
  EXPECT_EQ(total, 40);
}

TEST(ThreadPool, SeveralCallersFinish) {
  ThreadPool pool(3);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        pool.parallel_for(10, [&](int64_t block, int) { total += block; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 200 * 45);
}

}  // namespace
}  // namespace remora::cpu
