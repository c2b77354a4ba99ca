// What a session does with right and wrong records: an error poisons what it concerns and ends
// nothing.
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::LiveSet;
using dispatch::OpCode;
using dispatch::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kInvalidArgument = static_cast<uint32_t>(absl::StatusCode::kInvalidArgument);
constexpr auto kNotFound = static_cast<uint32_t>(absl::StatusCode::kNotFound);
constexpr auto kAlreadyExists = static_cast<uint32_t>(absl::StatusCode::kAlreadyExists);

class SessionRecords : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    worker_ =
        std::make_unique<WorkerProcess>(WorkerOptions{{"--devices", "cpu,cpu", "--threads", "1"}});
    client_ = std::make_unique<RawClient>(*worker_);
  }
  static void TearDownTestSuite() {
    client_.reset();
    worker_.reset();
  }

  ValueId host(const dispatch::HostData& data, uint32_t device = 0) {
    const ValueId id(session_.next_window(), 0);
    session_.records().host_data(id, device, data);
    return id;
  }
  /// Defines a graph of its own and runs it; all outputs live.
  ValueId run(const TestGraph& graph, const std::vector<ValueId>& inputs, uint32_t device = 0,
              std::vector<bool> consumed = {}) {
    session_.records().define(++graph_, device, LiveSet(graph.graph->outputs.size(), true),
                              *graph.graph);
    return run_again(graph, inputs, std::move(consumed));
  }
  ValueId run_again(const TestGraph& graph, const std::vector<ValueId>& inputs,
                    std::vector<bool> consumed = {}) {
    consumed.resize(inputs.size());
    const uint64_t window = session_.next_window();
    session_.records().run(graph_, {window, inputs, graph.params, std::move(consumed)});
    return {window, 0};
  }
  void expect_error(const v1::ReadReply& reply, uint32_t code, const std::string& part) {
    EXPECT_EQ(reply.status().code(), code) << reply.status().message();
    EXPECT_THAT(reply.status().message(), HasSubstr(part));
  }
  /// The last error the worker sent.
  const v1::OpError& last_error() {
    static const v1::OpError none;
    EXPECT_FALSE(session_.errors().empty());
    return session_.errors().empty() ? none : session_.errors().back();
  }

  static inline std::unique_ptr<WorkerProcess> worker_;
  static inline std::unique_ptr<RawClient> client_;
  RawSession session_{*client_};
  uint64_t graph_ = 0;
};

const TestGraph& add2() {
  static const TestGraph graph = one_op(OpCode::add, {f32({2}), f32({2})});
  return graph;
}

TEST_F(SessionRecords, a_run_computes_and_a_read_brings_it) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({10, 20}));
  const ValueId sum = run(add2(), {a, b});
  const ValueId twice = run_again(add2(), {sum, sum});
  EXPECT_THAT(session_.read_floats(twice), ElementsAre(22, 44));
  EXPECT_THAT(session_.read_floats(sum), ElementsAre(11, 22));
  EXPECT_TRUE(session_.errors().empty());
}

TEST_F(SessionRecords, a_window_used_once_needs_no_definition) {
  const ValueId a = host(floats({1, 2}));
  const uint64_t window = session_.next_window();
  session_.records().once(0, LiveSet{true}, *add2().graph, {window, {a, a}, {}, {false, false}});
  EXPECT_THAT(session_.read_floats({window, 0}), ElementsAre(2, 4));
}

TEST_F(SessionRecords, only_live_outputs_are_kept) {
  const ValueId a = host(floats({1, 2}));
  session_.records().define(1, 0, LiveSet{false}, *add2().graph);
  session_.records().run(1, {session_.next_window(), {a, a}, {}, {false, false}});
  expect_error(session_.read({2, 0}), kNotFound, "value (2, 0)");
}

TEST_F(SessionRecords, forged_shapes_poison_the_outputs_of_their_runs_alone) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({1, 2, 3}));
  const ValueId forged = run(one_op(OpCode::add, {f32({2}), f32({3})}, {}, {f32({2})}), {a, b});
  expect_error(session_.read(forged), kInvalidArgument, "add");
  const ValueId dependent = run(add2(), {forged, a});
  expect_error(session_.read(dependent), kInvalidArgument, "add");
  EXPECT_THAT(session_.read_floats(a), ElementsAre(1, 2));
  EXPECT_THAT(session_.read_floats(run_again(add2(), {a, a})), ElementsAre(2, 4));
}

TEST_F(SessionRecords, a_live_set_of_another_size_fails_the_definition) {
  const ValueId a = host(floats({1, 2}));
  session_.records().define(1, 0, LiveSet{true, true}, *add2().graph);
  const uint64_t window = session_.next_window();
  session_.records().run(1, {window, {a, a}, {}, {false, false}});
  expect_error(session_.read({window, 1}), kInvalidArgument, "live set has 2 entries");
}

TEST_F(SessionRecords, an_unknown_input_poisons_its_runs_outputs) {
  const ValueId a = host(floats({1, 2}));
  const ValueId sum = run(add2(), {a, ValueId(999, 3)});
  expect_error(session_.read(sum), kNotFound, "value (999, 3)");
  EXPECT_EQ(last_error().window(), sum.window());
  EXPECT_THAT(session_.read_floats(a), ElementsAre(1, 2));
}

TEST_F(SessionRecords, an_input_of_another_shape_poisons_its_runs_outputs) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({1, 2, 3}));
  expect_error(session_.read(run(add2(), {a, b})), kInvalidArgument, "f32[3]");
}

TEST_F(SessionRecords, an_input_of_another_device_poisons_its_runs_outputs) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({1, 2}), 1);
  expect_error(session_.read(run(add2(), {a, b})), kInvalidArgument, "cpu:1");
}

TEST_F(SessionRecords, a_window_number_used_again_is_refused_and_the_first_result_stays) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({5, 5}));
  const ValueId sum = run(add2(), {a, a});
  session_.records().run(graph_, {sum.window(), {b, b}, {}, {false, false}});
  EXPECT_THAT(session_.read_floats(sum), ElementsAre(2, 4));
  EXPECT_EQ(last_error().status().code(), kAlreadyExists);
  EXPECT_EQ(last_error().window(), sum.window());
}

TEST_F(SessionRecords, a_window_number_used_again_consumes_its_inputs_all_the_same) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({5, 5}));
  const ValueId sum = run(add2(), {a, a});
  session_.records().run(graph_, {sum.window(), {a, b}, {}, {false, true}});
  expect_error(session_.read(b), kNotFound, "consumed");
  EXPECT_THAT(session_.read_floats(a), ElementsAre(1, 2));
  EXPECT_THAT(session_.read_floats(sum), ElementsAre(2, 4));
  EXPECT_EQ(last_error().status().code(), kAlreadyExists);
}

TEST_F(SessionRecords, a_window_number_stays_used_after_its_values_are_gone) {
  const ValueId a = host(floats({1, 2}));
  const ValueId sum = run(add2(), {a, a});
  session_.records().drop(sum.window(), 0, 1);
  session_.records().run(graph_, {sum.window(), {a, a}, {}, {false, false}});
  session_.sync();
  EXPECT_EQ(last_error().status().code(), kAlreadyExists);
}

TEST_F(SessionRecords, host_data_under_a_used_id_is_refused) {
  const ValueId a = host(floats({1, 2}));
  session_.records().host_data(a, 0, floats({7, 7}));
  EXPECT_THAT(session_.read_floats(a), ElementsAre(1, 2));
  EXPECT_EQ(last_error().status().code(), kAlreadyExists);
}

TEST_F(SessionRecords, a_graph_number_defined_again_is_refused_and_the_first_definition_stays) {
  const ValueId a = host(floats({1, 2}));
  ASSERT_THAT(session_.read_floats(run(add2(), {a, a})), ElementsAre(2, 4));
  // A second writer does not know what the first has defined.
  wire::RecordWriter forger;
  forger.define(graph_, 0, LiveSet{true}, *one_op(OpCode::mul, {f32({2}), f32({2})}).graph);
  v1::ClientFrame frame;
  frame.set_sequence(session_.sequence() + 1);
  frame.set_records(forger.take());
  ASSERT_TRUE(session_.send_frame(frame));
  v1::WorkerFrame answer;
  ASSERT_TRUE(session_.receive(answer));
  EXPECT_EQ(last_error().status().code(), kAlreadyExists);
}

TEST_F(SessionRecords, an_undefined_number_can_be_defined_again) {
  const ValueId a = host(floats({3, 4}));
  ASSERT_THAT(session_.read_floats(run(add2(), {a, a})), ElementsAre(6, 8));
  session_.records().undefine(graph_--);
  EXPECT_THAT(session_.read_floats(run(one_op(OpCode::mul, {f32({2}), f32({2})}), {a, a})),
              ElementsAre(9, 16));
}

TEST_F(SessionRecords, unknown_devices_are_named) {
  const ValueId a = host(floats({1, 2}));
  expect_error(session_.read(host(floats({1, 2}), 7)), kNotFound, "device 7");
  expect_error(session_.read(run(add2(), {a, a}, 7)), kNotFound, "device 7");
  expect_error(session_.sync(7), kNotFound, "device 7");
  const ValueId copy(session_.next_window(), 0);
  session_.records().transfer(copy, a, 7);
  expect_error(session_.read(copy), kNotFound, "device 7");
}

TEST_F(SessionRecords, elements_of_16_bits_are_computed_with) {
  const Spec f16{DType::kF16, Shape({2})};
  const std::vector<uint16_t> one_and_two = {0x3C00, 0x4000};
  const ValueId a = host(dispatch::HostData::copy_of(f16, std::as_bytes(std::span(one_and_two))));
  const ValueId sum = run(one_op(OpCode::add, {f16, f16}), {a, a});
  const ValueId widened =
      run(one_op(OpCode::astype, {f16}, dispatch::DTypeAttrs{DType::kF32}), {sum});
  EXPECT_THAT(session_.read_floats(widened), ElementsAre(2, 4));
}

TEST_F(SessionRecords, an_integer_divided_by_zero_is_an_error_of_its_op) {
  const Spec i64{DType::kI64, Shape({2})};
  const ValueId a = host(dispatch::HostData::copy_of(i64, std::vector<std::byte>(16)));
  const ValueId quotients = run(one_op(OpCode::remainder, {i64, i64}), {a, a});
  expect_error(session_.read(quotients), kInvalidArgument, "remainder: element 0 of the divisor");
}

TEST_F(SessionRecords, consumed_inputs_leave_the_id_table) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({3, 4}));
  const ValueId sum = run(add2(), {a, b}, 0, {true, false});
  EXPECT_THAT(session_.read_floats(sum), ElementsAre(4, 6));
  expect_error(session_.read(a), kNotFound, "consumed");
  EXPECT_THAT(session_.read_floats(b), ElementsAre(3, 4));
}

TEST_F(SessionRecords, dropped_values_are_gone_and_their_neighbours_are_not) {
  const ValueId a = host(floats({1, 2}));
  const ValueId b = host(floats({3, 4}));
  session_.records().drop(a.window(), 0, 1000);
  expect_error(session_.read(a), kNotFound, "dropped");
  EXPECT_THAT(session_.read_floats(b), ElementsAre(3, 4));
}

TEST_F(SessionRecords, an_index_out_of_range_poisons_only_what_depends_on_it) {
  const Spec i64{DType::kI64, Shape({2})};
  const ValueId table = host(floats({1, 2, 3}));
  const ValueId good = host(integers({0, 2}));
  const ValueId bad = host(integers({0, 7}));
  const TestGraph gather = one_op(OpCode::gather, {f32({3}), i64}, dispatch::AxisAttrs{0});
  const ValueId picked = run(gather, {table, good});
  const ValueId failed = run_again(gather, {table, bad});
  const ValueId dependent = run(add2(), {failed, picked});
  const ValueId independent = run_again(add2(), {picked, picked});
  expect_error(session_.read(dependent), kInvalidArgument, "gather");
  expect_error(session_.read(failed), kInvalidArgument, "index 7");
  EXPECT_THAT(session_.read_floats(independent), ElementsAre(2, 6));
  EXPECT_THAT(session_.read_floats(table), ElementsAre(1, 2, 3));
  ASSERT_EQ(session_.errors().size(), 1u);
  EXPECT_EQ(last_error().op(), "gather");
  EXPECT_EQ(last_error().window(), failed.window());
  EXPECT_EQ(last_error().op_index(), 0u);
  EXPECT_EQ(last_error().device(), "cpu:0");
}

TEST_F(SessionRecords, a_transfer_copies_between_the_workers_devices) {
  const ValueId a = host(floats({1, 2}));
  const ValueId sum = run(add2(), {a, a});
  const ValueId copy(session_.next_window(), 0);
  session_.records().transfer(copy, sum, 1);
  const ValueId twice = run(add2(), {copy, copy}, 1);
  EXPECT_THAT(session_.read_floats(twice), ElementsAre(4, 8));
  EXPECT_THAT(session_.read_floats(sum), ElementsAre(2, 4));
}

TEST_F(SessionRecords, a_transfer_of_a_poisoned_value_carries_its_error) {
  const ValueId a = host(floats({1, 2}));
  const ValueId poisoned = run(add2(), {a, ValueId(999, 0)});
  const ValueId copy(session_.next_window(), 0);
  session_.records().transfer(copy, poisoned, 1);
  expect_error(session_.read(copy), kNotFound, "value (999, 0)");
}

TEST_F(SessionRecords, a_transfer_of_an_unknown_value_is_not_found) {
  const ValueId copy(session_.next_window(), 0);
  session_.records().transfer(copy, ValueId(999, 0), 1);
  expect_error(session_.read(copy), kNotFound, "value (999, 0)");
}

TEST_F(SessionRecords, a_read_number_still_open_is_refused) {
  const ValueId pending(session_.next_window(), 0);
  session_.records().upload(pending, 0, f32({2}));
  session_.records().read(1000, pending);
  session_.records().read(1000, pending);
  ASSERT_TRUE(session_.send());
  session_.sync(1);
  EXPECT_EQ(last_error().status().code(), kAlreadyExists);
}

TEST_F(SessionRecords, a_sync_answers_after_what_was_before_it) {
  const ValueId a = host(floats({1, 2}));
  run(add2(), {a, ValueId(999, 0)});
  EXPECT_EQ(session_.sync().status().code(), 0u);
  EXPECT_EQ(session_.errors().size(), 1u);
}

TEST_F(SessionRecords, more_windows_in_a_frame_than_may_wait_all_run) {
  ValueId sum = host(floats({1, 1}));
  const ValueId one = host(floats({1, 1}));
  sum = run(add2(), {sum, one});
  for (size_t i = 0; i < 4 * wire::kMaxWaitingWindows; ++i)
    sum = run_again(add2(), {sum, one}, {true, false});
  const float expected = 2 + 4 * wire::kMaxWaitingWindows;
  EXPECT_THAT(session_.read_floats(sum), ElementsAre(expected, expected));
}

TEST_F(SessionRecords, more_results_than_may_wait_all_arrive) {
  const std::vector<float> values(wire::kMaxInlineBytes / sizeof(float), 1.0F);
  const ValueId value = host(floats(values));
  constexpr uint64_t kReads = 600;  // 37 MiB
  for (uint64_t number = 1; number <= kReads; ++number) session_.records().read(number, value);
  ASSERT_TRUE(session_.send());
  for (uint64_t number = 1; number <= kReads; ++number) {
    ASSERT_EQ(session_.wait_for(number).data().size(), wire::kMaxInlineBytes) << number;
  }
}

}  // namespace
}  // namespace remora::test
