// The executor alone: queues, parking, bounds and closing. What it does to a program is in
// window_test.cpp.
#include "dispatch/executor.h"

#include "absl/synchronization/notification.h"
#include "dispatch/limits.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

const Spec kSpec{DType::kF32, {2}};

/// A value that nobody has computed yet.
Value pending() {
  return Value::make(ValueId(next_window_number(), 0), kSpec, &Device::cpu().state());
}

class ExecutorTest : public testing::Test {
 protected:
  Value ready() {
    Value value = pending();
    value->fulfil(*backend_.upload(value->id(), reference::to_host(reference::Array(kSpec))));
    return value;
  }
  /// output = code(inputs), as a window of its own.
  static WindowRun window(OpCode code, std::vector<Value> inputs, Value output) {
    GraphBuilder builder;
    std::vector<Position> positions;
    for (size_t i = 0; i < inputs.size(); ++i)
      positions.push_back(Position::external(builder.add_input(kSpec)));
    builder.add_op(op_info(code), positions, NoAttrs{}, {&kSpec, 1});
    WindowRun run;
    run.graph = builder.finish(run.params);
    run.live = {true};
    run.consumed.assign(inputs.size(), false);
    run.inputs = std::move(inputs);
    run.outputs = {std::move(output)};
    run.window = next_window_number();
    return run;
  }
  /// Pushes neg(input) and gives its output.
  Value push_neg(const Executor::QueuePtr& queue, Value input) {
    Value output = pending();
    executor_.push(queue, window(OpCode::neg, {std::move(input)}, output));
    return output;
  }
  void run_until_settled(const Value& value) {
    executor_.run_until([&] { return value->settled(); });
  }

  InterpreterBackend backend_;
  PlanCache plans_{backend_, 16};
  Executor executor_{backend_, plans_};
};

TEST_F(ExecutorTest, a_waiting_thread_runs_what_is_queued_in_order) {
  const auto queue = executor_.add_queue();
  const Value first = push_neg(queue, ready());
  const Value second = push_neg(queue, first);
  EXPECT_EQ(executor_.pending_windows(queue), 2u);
  run_until_settled(second);
  EXPECT_TRUE(first->settled());
  EXPECT_FALSE(second->poisoned());
  executor_.wait_until_empty(queue);
  EXPECT_EQ(executor_.pending_windows(queue), 0u);
}

TEST_F(ExecutorTest, a_kick_lets_the_background_thread_run_it) {
  const auto queue = executor_.add_queue();
  const Value output = push_neg(queue, ready());
  absl::Notification done;
  executor_.push(queue, CallTask{output, [&] { done.Notify(); }});
  executor_.kick();
  done.WaitForNotification();
  EXPECT_TRUE(output->settled());
}

TEST_F(ExecutorTest, a_parked_queue_holds_up_no_other) {
  const auto parked = executor_.add_queue();
  const auto other = executor_.add_queue();
  const Value on_its_way = pending();
  const Value late = push_neg(parked, on_its_way);
  const Value behind = push_neg(parked, ready());
  const Value free = push_neg(other, ready());
  run_until_settled(free);
  EXPECT_FALSE(late->settled());
  EXPECT_FALSE(behind->settled()) << "a queue keeps its order";
  on_its_way->fulfil(
      *backend_.upload(on_its_way->id(), reference::to_host(reference::Array(kSpec))));
  executor_.wake();
  run_until_settled(behind);
  EXPECT_TRUE(late->settled());
}

TEST_F(ExecutorTest, wake_reaches_a_thread_that_already_waits) {
  const auto queue = executor_.add_queue();
  const Value on_its_way = pending();
  const Value late = push_neg(queue, on_its_way);
  std::thread waiter([&] { run_until_settled(late); });
  on_its_way->poison(absl::DataLossError("the upload failed"));
  executor_.wake();
  waiter.join();
  ASSERT_TRUE(late->poisoned());
  EXPECT_EQ(late->error().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ExecutorTest, queues_are_served_in_turn) {
  const auto first = executor_.add_queue();
  const auto second = executor_.add_queue();
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) executor_.push(first, CallTask{{}, [&] { order.push_back(1); }});
  for (int i = 0; i < 3; ++i) executor_.push(second, CallTask{{}, [&] { order.push_back(2); }});
  executor_.run_until([&] { return order.size() == 6; });
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2, 1, 2}));
}

TEST_F(ExecutorTest, close_queue_answers_everything) {
  const auto queue = executor_.add_queue();
  const Value output = push_neg(queue, pending());
  absl::StatusOr<HostData> answer = absl::UnknownError("not answered");
  bool called = false;
  executor_.push(
      queue, ReadTask{output, [&](absl::StatusOr<HostData> data) { answer = std::move(data); }});
  executor_.push(queue, CallTask{output, [&] { called = true; }});
  executor_.close_queue(queue, absl::UnavailableError("the session ended"));
  ASSERT_TRUE(output->poisoned());
  EXPECT_EQ(output->error().message(), "the session ended");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(called);

  const Value late = push_neg(queue, ready());
  EXPECT_TRUE(late->poisoned()) << "pushed after the close";
}

TEST_F(ExecutorTest, destruction_answers_everything) {
  Value output;
  absl::StatusOr<HostData> answer = absl::UnknownError("not answered");
  {
    Executor executor(backend_, plans_);
    const auto queue = executor.add_queue();
    output = pending();
    executor.push(queue, window(OpCode::neg, {pending()}, output));
    executor.push(
        queue, ReadTask{output, [&](absl::StatusOr<HostData> data) { answer = std::move(data); }});
    executor.kick();
  }
  EXPECT_TRUE(output->poisoned());
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ExecutorTest, a_queue_is_bounded_by_windows_and_waits_for_room) {
  const auto queue = executor_.add_queue();
  Value last = ready();
  while (executor_.has_room(queue)) {
    ASSERT_LE(executor_.pending_windows(queue), kMaxQueuedWindows);
    last = push_neg(queue, last);
  }
  EXPECT_EQ(executor_.pending_windows(queue), kMaxQueuedWindows + 1);
  executor_.wait_for_room(queue);
  EXPECT_LE(executor_.pending_windows(queue), kMaxQueuedWindows);
  EXPECT_TRUE(executor_.has_room(queue));
}

TEST_F(ExecutorTest, a_failure_is_reported_once_and_poisons_its_outputs) {
  backend_.set_hooks(
      {.fail_op = [](const GraphOp&) { return absl::InternalError("made to fail"); }});
  const auto queue = executor_.add_queue();
  const Value output = pending();
  WindowRun run = window(OpCode::neg, {ready()}, output);
  std::vector<std::string> reported;
  run.on_failure = [&](const GraphOp& op, const absl::Status& status) {
    reported.push_back(std::string(op.info->name) + ": " + std::string(status.message()));
  };
  executor_.push(queue, std::move(run));
  const Value dependent = push_neg(queue, output);
  run_until_settled(dependent);
  EXPECT_EQ(reported, std::vector<std::string>{"neg: made to fail"});
  EXPECT_EQ(output->error().message(), "made to fail");
  EXPECT_EQ(dependent->error(), output->error());
}

TEST_F(ExecutorTest, an_error_has_the_name_of_its_call_or_tells_where_it_began) {
  backend_.set_hooks(
      {.fail_op = [](const GraphOp&) { return absl::InternalError("neg: made to fail"); }});
  const auto queue = executor_.add_queue();
  const auto error_under = [&](std::shared_ptr<const CallNames> calls) {
    const Value output = pending();
    WindowRun run = window(OpCode::neg, {ready()}, output);
    run.window = 17;
    run.calls = std::move(calls);
    executor_.push(queue, std::move(run));
    run_until_settled(output);
    return output->error();
  };
  const absl::Status named = error_under(std::make_shared<const CallNames>(1, "mean"));
  EXPECT_EQ(named.message(), "mean: neg: made to fail");
  EXPECT_EQ(origin_of(named), std::nullopt);
  EXPECT_EQ(error_under(std::make_shared<const CallNames>(1, "neg")).message(),
            "neg: made to fail");
  EXPECT_EQ(error_under(std::make_shared<const CallNames>(1, "")).message(), "neg: made to fail");
  const absl::Status elsewhere = error_under(nullptr);
  EXPECT_EQ(elsewhere.message(), "neg: made to fail");
  EXPECT_EQ(origin_of(elsewhere), (ErrorOrigin{17, 0}));
  EXPECT_EQ(origin_of(in_call("mean", elsewhere)), (ErrorOrigin{17, 0}));
}

TEST_F(ExecutorTest, an_account_pays_for_what_lives_and_is_repaid) {
  const auto account = std::make_shared<MemoryAccount>("session 3f2a", 20);
  const auto queue = executor_.add_queue();
  Value first = pending(), second = pending(), third = pending();
  for (const Value& output : {first, second, third}) {
    WindowRun run = window(OpCode::neg, {ready()}, output);
    run.account = account;
    executor_.push(queue, std::move(run));
  }
  run_until_settled(third);
  EXPECT_FALSE(second->poisoned());
  EXPECT_EQ(account->used_bytes(), 16) << "two tensors of 8 bytes";
  ASSERT_TRUE(third->poisoned());
  EXPECT_TRUE(fails_with(third->error(), absl::StatusCode::kResourceExhausted,
                         {"session 3f2a", "8 bytes", "16 of 20"}));
  first.reset();
  second.reset();
  executor_.wait_until_empty(queue);
  EXPECT_EQ(account->used_bytes(), 0);
}

TEST_F(ExecutorTest, what_a_task_held_is_gone_when_the_task_is_seen_done) {
  const auto queue = executor_.add_queue();
  const int64_t before = InterpreterBackend::live_bytes();
  const Value output = push_neg(queue, ready());
  executor_.wait_until_empty(queue);
  EXPECT_EQ(InterpreterBackend::live_bytes(), before + kSpec.byte_size()) << "the output alone";
}

}  // namespace
}  // namespace remora::test
