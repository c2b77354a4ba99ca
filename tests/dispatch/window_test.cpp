// Recording: what ends a window, what is in it, and what a program may rely on.
#include "dispatch/window.h"

#include <thread>

#include "dispatch/limits.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

class WindowTest : public testing::Test {
 protected:
  void SetUp() override { cpu_.synchronize(); }
  uint64_t windows() const { return cpu_.state().stats().windows; }
  uint64_t runs() const { return backend_of(cpu_).runs(); }
  PlanCache& plans() const { return cpu_.state().plans(); }

  const Device cpu_ = Device::cpu();
};

TEST_F(WindowTest, nothing_runs_before_a_hard_end) {
  const uint64_t before = runs();
  const Value x = floats(cpu_, {1, 2});
  const Value y = op(OpCode::exp, {op(OpCode::neg, {x})});
  EXPECT_EQ(runs(), before);
  EXPECT_FALSE(y->settled());
  EXPECT_EQ(numbers(op(OpCode::add, {x, x})), (Numbers{2, 4}));
  EXPECT_EQ(runs(), before + 1) << "one window of three ops";
  EXPECT_TRUE(y->settled()) << "y was in the same window";
}

TEST_F(WindowTest, ids_only_increase_and_count_outputs_in_recording_order) {
  const Value x = filled(cpu_, {2}, 1.0);
  const Value y = op(OpCode::neg, {x});
  const Value z = op(OpCode::neg, {y});
  EXPECT_EQ(x->id().window(), z->id().window());
  EXPECT_EQ(y->id().index(), x->id().index() + 1);
  EXPECT_EQ(z->id().index(), x->id().index() + 2);
  cpu_.flush();
  const Value later = op(OpCode::neg, {z});
  EXPECT_GT(later->id().window(), z->id().window());
  EXPECT_EQ(later->id().index(), 0u);
}

TEST_F(WindowTest, a_dropped_value_is_not_kept) {
  const Value x = floats(cpu_, {1, 2});
  const int64_t before = InterpreterBackend::live_bytes();
  const Value result = op(OpCode::exp, {op(OpCode::neg, {x})});
  cpu_.synchronize();
  EXPECT_EQ(InterpreterBackend::live_bytes(), before + result->spec().byte_size());
}

TEST_F(WindowTest, inputs_whose_last_handle_was_dropped_are_consumed) {
  std::vector<bool> consumed;
  const ScopedHooks hooks(cpu_, {.before_run = [&](const Graph&, const RunRequest& request) {
                            consumed = request.consumed;
                          }});
  const Value kept = floats(cpu_, {1});
  Value dropped = floats(cpu_, {2});
  const Value sum = op(OpCode::add, {kept, dropped});
  dropped.reset();
  EXPECT_EQ(numbers(sum), (Numbers{3}));
  EXPECT_EQ(consumed, (std::vector<bool>{false, true}));
}

TEST_F(WindowTest, a_repeated_window_is_a_hit_and_params_are_not_in_its_key) {
  for (int step = 0; step < 4; ++step) {
    const uint64_t misses = plans().misses();
    const Value x = op(OpCode::add, {filled(cpu_, {3}, step), floats(cpu_, {1, 2, 3})});
    EXPECT_EQ(numbers(x), (Numbers{1.0 + step, 2.0 + step, 3.0 + step}));
    EXPECT_EQ(plans().misses(), misses + (step == 0 ? 1 : 0)) << "step " << step;
  }
}

/// A step of many different ops without a hard end inside.
Value long_step(const Value& start) {
  Value x = start;
  for (int64_t i = 0; i < 400; ++i) {
    const Value row = filled(start->device().device(), {1 + i, 2}, static_cast<double>(i));
    x = op(OpCode::add, {x, op(OpCode::sum, {row}, ReduceAttrs{{0}, false})});
  }
  return x;
}

TEST_F(WindowTest, first_pass_is_several_windows_second_one_window_third_a_hit) {
  const Value start = floats(cpu_, {0, 0});
  Numbers expected;
  for (int pass = 0; pass < 4; ++pass) {
    cpu_.synchronize();
    const uint64_t windows_before = windows();
    const uint64_t misses_before = plans().misses();
    const Numbers result = numbers(long_step(start));
    if (pass == 0) {
      EXPECT_GT(windows() - windows_before, 3u) << "the device starts early";
      expected = result;
    } else {
      EXPECT_EQ(windows() - windows_before, 1u) << "pass " << pass;
      EXPECT_EQ(plans().misses() - misses_before, pass == 1 ? 1u : 0u) << "pass " << pass;
    }
    EXPECT_EQ(result, expected);
  }
}

/// Ops of every window that `device` runs for a loop that is long enough to fill its queue.
std::vector<size_t> windows_of_long_loop(const Device& device, bool is_held_up) {
  std::vector<size_t> sizes;  // written by one runner at a time
  const uint64_t full_at = device.state().stats().windows + kMaxQueuedWindows + 1;
  const ScopedHooks hooks(device, {.before_run = [&](const Graph& graph, const RunRequest&) {
                            sizes.push_back(graph.ops.size());
                            // The recording thread has to wait for room before the first run ends.
                            while (is_held_up && device.state().stats().windows < full_at) {
                              std::this_thread::yield();
                            }
                          }});
  device.flush();
  Value x = filled(device, {2}, 0.0);
  for (int64_t i = 0; i < 4000; ++i) {
    const Value rows = filled(device, {1 + i % 97, 2}, 0.5);
    x = op(OpCode::add, {x, op(OpCode::sum, {rows}, ReduceAttrs{{0}, false})});
    if (!is_held_up) device.state().executor().wait_until_empty(device.state().queue());
  }
  device.synchronize();
  return sizes;
}

TEST_F(WindowTest, a_full_queue_is_no_hard_end) {
  const auto held_up = windows_of_long_loop(cpu_, true);
  EXPECT_GT(held_up.size(), kMaxQueuedWindows);
  EXPECT_EQ(held_up, windows_of_long_loop(Device::cpu(1), false));
}

TEST_F(WindowTest, a_window_ends_at_its_size_limit_even_inside_a_call) {
  const uint64_t before = windows();
  Value x = filled(cpu_, {}, 0.0);
  {
    const CallScope scope;
    for (size_t i = 0; i < kMaxWindowOps + 10; ++i) x = op(OpCode::neg, {x});
  }
  EXPECT_GE(windows() - before, 1u);
  EXPECT_EQ(numbers(x), (Numbers{0}));
}

TEST_F(WindowTest, cuts_wait_for_the_end_of_a_call) {
  const Value start = floats(cpu_, {0, 0, 0});  // shapes that no other test has
  cpu_.flush();
  const uint64_t before = windows();
  Value x = start;
  {
    const CallScope scope;
    for (int64_t i = 0; i < 1000; ++i) {
      const Value row = filled(cpu_, {1 + i, 3}, 1.0);
      x = op(OpCode::add, {x, op(OpCode::sum, {row}, ReduceAttrs{{0}, false})});
    }
    EXPECT_EQ(windows(), before);
  }
  EXPECT_GT(numbers(x)[0], 0.0);
}

TEST_F(WindowTest, using_a_value_of_another_threads_open_window_ends_that_window) {
  Value made;
  absl::Mutex mutex;
  bool there = false, used = false;
  std::thread other([&] {
    Value value = op(OpCode::exp, {filled(cpu_, {2}, 0.0)});
    const absl::MutexLock lock(&mutex);
    made = value;
    there = true;
    mutex.Await(absl::Condition(&used));  // its window stays open
  });
  {
    const absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&there));
  }
  const uint64_t before = windows();
  const Value sum = op(OpCode::add, {made, made});
  EXPECT_EQ(windows(), before + 1);
  EXPECT_EQ(numbers(sum), (Numbers{2, 2}));
  {
    const absl::MutexLock lock(&mutex);
    used = true;
  }
  other.join();
}

TEST_F(WindowTest, reading_a_value_of_another_threads_open_window_ends_that_window) {
  Value made;
  absl::Mutex mutex;
  bool there = false, read = false;
  std::thread other([&] {
    Value value = op(OpCode::neg, {filled(cpu_, {2}, 3.0)});
    const absl::MutexLock lock(&mutex);
    made = value;
    there = true;
    mutex.Await(absl::Condition(&read));
  });
  {
    const absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&there));
  }
  EXPECT_EQ(numbers(made), (Numbers{-3, -3}));
  {
    const absl::MutexLock lock(&mutex);
    read = true;
  }
  other.join();
}

TEST_F(WindowTest, routing_first_float_then_first) {
  const Device other = Device::cpu(1);
  const Value whole_here = integers(cpu_, {1, 2});
  const Value whole_there = integers(other, {3, 4});
  const Value real_there = floats(other, {0.5, 0.5});
  EXPECT_EQ(&route(std::vector{whole_here, real_there}), &other.state());
  EXPECT_EQ(&route(std::vector{whole_here, whole_there}), &cpu_.state());
  EXPECT_EQ(&route(std::vector{whole_there, whole_here}), &other.state());
  const Value gathered = op(OpCode::gather, {real_there, integers(cpu_, {1, 0})}, AxisAttrs{0});
  EXPECT_EQ(&gathered->device(), &other.state());
  EXPECT_EQ(numbers(gathered), (Numbers{0.5, 0.5}));
  EXPECT_EQ(&filled(other, {1}, 1.0)->device(), &other.state())
      << "creation: where the caller says";
  EXPECT_EQ(error_of([] { submit(OpCode::full, {}, FullAttrs{}); }).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(WindowTest, mixed_device_operands_are_moved) {
  const Device other = Device::cpu(1);
  const uint64_t moved = cpu_.state().stats().moved_operands;
  const Value sum =
      op(OpCode::add, {floats(cpu_, {1, 2}), op(OpCode::neg, {floats(other, {10, 20})})});
  EXPECT_EQ(&sum->device(), &cpu_.state());
  EXPECT_EQ(numbers(sum), (Numbers{-9, -18}));
  EXPECT_EQ(cpu_.state().stats().moved_operands, moved + 1);
}

TEST_F(WindowTest, fast_rows_expand_where_the_device_has_no_kernel) {
  const Value x = floats(cpu_, {0, 0, 0, 0});
  const Numbers native = numbers(op(OpCode::softmax, {x}, AxisAttrs{0}));
  const ScopedHooks hooks(cpu_, {.lacks_fast_rows = true});
  const uint64_t ops = cpu_.state().stats().ops;
  EXPECT_EQ(numbers(op(OpCode::softmax, {x}, AxisAttrs{0})), native);
  EXPECT_GT(cpu_.state().stats().ops - ops, 3u);
}

TEST_F(WindowTest, what_a_device_lacks_is_refused_at_the_call) {
  const Value x = floats(cpu_, {1});
  EXPECT_TRUE(fails_with(error_of([&] { op(OpCode::astype, {x}, DTypeAttrs{DType::kF64}); }),
                         absl::StatusCode::kUnimplemented, {"astype", "f64", "cpu"}));
  EXPECT_TRUE(fails_with(error_of([&] {
                           upload(cpu_, reference::to_host(reference::Array({DType::kF64, {2}})));
                         }),
                         absl::StatusCode::kUnimplemented, {"f64", "cpu"}));
}

TEST_F(WindowTest, invoke_finds_ops_by_name) {
  const Value x = floats(cpu_, {1, -2});
  EXPECT_EQ(numbers(invoke("abs", std::vector{x}, NoAttrs{})[0]), (Numbers{1, 2}));
  EXPECT_TRUE(fails_with(error_of([&] { invoke("absolute", std::vector{x}, NoAttrs{}); }),
                         absl::StatusCode::kNotFound, {"absolute"}));
}

}  // namespace
}  // namespace remora::test
