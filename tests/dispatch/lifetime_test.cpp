// Threads and memory: values outlive the threads that made them, and nothing is kept that nobody
// holds.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

class Lifetime : public testing::Test {
 protected:
  void SetUp() override {
    cpu_.synchronize();
    before_ = InterpreterBackend::live_bytes();
  }
  void expect_nothing_kept(const char* scenario) {
    cpu_.synchronize();
    EXPECT_EQ(InterpreterBackend::live_bytes(), before_) << scenario;
  }
  Value some_work() { return op(OpCode::exp, {op(OpCode::neg, {floats(cpu_, {1, 2, 3})})}); }

  const Device cpu_ = Device::cpu();
  int64_t before_ = 0;
};

TEST_F(Lifetime, lifetime_no_leaks) {
  some_work();
  expect_nothing_kept("dropped before use");

  (void)numbers(some_work());
  expect_nothing_kept("dropped after use");

  {
    Value made = some_work();
    std::thread([moved = std::move(made)]() mutable { moved.reset(); }).join();
  }
  expect_nothing_kept("dropped in another thread");

  (void)error_of([&] {
    const CallScope scope;
    some_work();
    throw Error(absl::InvalidArgumentError("refused"));
  });
  expect_nothing_kept("aborted window");

  for (int i = 0; i < 4; ++i) (void)numbers(some_work());
  expect_nothing_kept("replayed plan");

  read_async(some_work(), [](const absl::StatusOr<HostData>&) {});
  expect_nothing_kept("unread read");

  {
    const Value bad = op(OpCode::gather, {some_work(), integers(cpu_, {9})}, AxisAttrs{0});
    (void)error_of([&] { (void)read(bad); });
  }
  expect_nothing_kept("poisoned");

  (void)numbers(op(OpCode::neg, {transfer(some_work(), Device::cpu(1))}));
  Device::cpu(1).synchronize();
  expect_nothing_kept("transferred");
}

TEST_F(Lifetime, lifetime_threads) {
  Value made;
  std::thread([&] { made = some_work(); }).join();
  Numbers used;
  std::thread([&] { used = numbers(op(OpCode::mul, {made, made})); }).join();
  EXPECT_EQ(used.size(), 3u);
  std::thread([&] { made.reset(); }).join();
  expect_nothing_kept("made, used and dropped in three threads");
}

TEST_F(Lifetime, thousand_short_lived_threads) {
  constexpr int kThreads = 1000;
  std::vector<Value> results(kThreads);
  for (int first = 0; first < kThreads; first += 10) {
    std::vector<std::thread> threads;
    for (int t = first; t < first + 10; ++t) {
      threads.emplace_back([&, t] {
        const Value mine = filled(cpu_, {2}, t);
        results[static_cast<size_t>(t)] = op(OpCode::add, {mine, mine});
        (void)op(OpCode::exp, {mine});  // dropped with the thread
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (int t = 0; t < kThreads; ++t) {
    ASSERT_EQ(numbers(results[static_cast<size_t>(t)]), (Numbers{2.0 * t, 2.0 * t}));
  }
  results.clear();
  expect_nothing_kept("a thousand threads");
}

TEST_F(Lifetime, two_threads_pass_values_back_and_forth) {
  constexpr int kRounds = 60;
  Value left = floats(cpu_, {1}), right = floats(cpu_, {1});
  absl::Mutex mutex;
  int turn = 0;
  const auto play = [&](int me) {
    for (int round = 0; round < kRounds; ++round) {
      const absl::MutexLock lock(&mutex);
      const auto mine = [&] { return turn == me; };
      mutex.Await(absl::Condition(&mine));
      Value& own = me == 0 ? left : right;
      own = op(OpCode::sub, {left, right});
      turn = 1 - me;
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  double expected_left = 1, expected_right = 1;
  for (int round = 0; round < kRounds; ++round) {
    expected_left = static_cast<float>(expected_left - expected_right);
    expected_right = static_cast<float>(expected_left - expected_right);
  }
  EXPECT_EQ(numbers(left), (Numbers{expected_left}));
  EXPECT_EQ(numbers(right), (Numbers{expected_right}));
}

TEST_F(Lifetime, lifetime_exit) {
  // A process that ends with windows open and work queued ends. It is started anew: a fork has no
  // devices.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Value kept = some_work();
        std::thread([&] { kept = op(OpCode::neg, {kept}); }).detach();
        some_work();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Lifetime, lifetime_read_at_exit) {
  // What the destructor of a static object may do: an error, as nothing runs any more.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        static Value kept;
        std::atexit([] {
          const absl::Status status = error_of([] { (void)numbers(kept); });
          std::_Exit(status.code() == absl::StatusCode::kCancelled ? 3 : 4);
        });
        kept = some_work();
        std::exit(0);
      },
      testing::ExitedWithCode(3), "");
}

TEST_F(Lifetime, lifetime_fork) {
  const Value x = some_work();
  (void)numbers(x);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool typed =
        error_of([&] { op(OpCode::neg, {x}); }).code() == absl::StatusCode::kFailedPrecondition &&
        error_of([&] { (void)read(x); }).code() == absl::StatusCode::kFailedPrecondition;
    _exit(typed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  EXPECT_EQ(numbers(op(OpCode::neg, {x})).size(), 3u) << "the parent goes on";
}

}  // namespace
}  // namespace remora::test
