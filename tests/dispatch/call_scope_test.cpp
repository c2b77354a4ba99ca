// A public function that throws has changed nothing.
#include <stdexcept>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

class CallScopeTest : public testing::Test {
 protected:
  /// A composite that records ops and draws on both devices and then fails on its arguments.
  void fail_midway(const Value& x) {
    const CallScope scope;
    const Value y = op(OpCode::exp, {op(OpCode::neg, {x})});
    (void)submit_random(OpCode::uniform, {DType::kF32, {5}}, cpu_);
    (void)op(OpCode::add, {y, floats(cpu_, {1, 1})});
    (void)filled(Device::cpu(1), {3}, 1.0);
    op(OpCode::add, {y, filled(cpu_, {7}, 0.0)});  // does not broadcast
  }

  const Device cpu_ = Device::cpu();
};

TEST_F(CallScopeTest, throwing_changes_nothing) {
  std::vector<size_t> ops_of_runs;
  const ScopedHooks hooks(cpu_, {.before_run = [&](const Graph& graph, const RunRequest&) {
                            ops_of_runs.push_back(graph.ops.size());
                          }});
  manual_seed(11);
  const Value x = floats(cpu_, {1, 2});
  const Value before = op(OpCode::neg, {x});
  EXPECT_TRUE(fails_with(error_of([&] { fail_midway(before); }), absl::StatusCode::kInvalidArgument,
                         {"add"}));
  const Value after = op(OpCode::add, {before, x});
  const Value drawn = submit_random(OpCode::uniform, {DType::kF32, {4}}, cpu_);
  EXPECT_EQ(numbers(after), (Numbers{0, 0}));
  EXPECT_EQ(ops_of_runs, std::vector<size_t>{3}) << "neg, add and the draw";
  const Value first_draw =
      submit(OpCode::uniform, {}, RandomAttrs{DType::kF32, {4}, 11, 0}, &cpu_)[0];
  EXPECT_EQ(numbers(drawn), numbers(first_draw)) << "the offset went back";
}

TEST_F(CallScopeTest, the_outermost_scope_decides) {
  const Value x = floats(cpu_, {1, 2});
  Value kept;
  {
    const CallScope outer;
    kept = op(OpCode::neg, {x});
    (void)error_of([&] { fail_midway(kept); });  // caught inside: the outer call goes on
    kept = op(OpCode::neg, {kept});
  }
  EXPECT_EQ(numbers(kept), (Numbers{1, 2}));
}

TEST_F(CallScopeTest, what_a_failed_call_recorded_is_typed_if_somebody_kept_it) {
  Value escaped;
  (void)error_of([&] {
    const CallScope scope;
    escaped = op(OpCode::neg, {floats(cpu_, {1})});
    throw Error(absl::InvalidArgumentError("refused"));
  });
  EXPECT_EQ(error_of([&] { (void)read(escaped); }).code(), absl::StatusCode::kAborted);
}

TEST_F(CallScopeTest, a_window_ended_inside_the_call_stays_and_the_rest_is_forgotten) {
  const Value x = floats(cpu_, {1, 2});
  const Value first = op(OpCode::neg, {x});
  (void)error_of([&] {
    const CallScope scope;
    (void)op(OpCode::exp, {x});
    cpu_.flush();
    (void)op(OpCode::exp, {x});
    throw Error(absl::InvalidArgumentError("refused"));
  });
  EXPECT_EQ(numbers(op(OpCode::add, {first, x})), (Numbers{0, 0}));
}

TEST_F(CallScopeTest, errors_name_the_outermost_function) {
  const Value x = floats(cpu_, {1, 2});
  const std::string plain = "add: shapes do not broadcast: [2] and [3]";
  const auto refused = [&] { op(OpCode::add, {x, floats(cpu_, {1, 2, 3})}); };
  const auto message = [&](auto call) { return std::string(error_of(call).message()); };
  EXPECT_EQ(message(refused), plain);
  EXPECT_EQ(message([&] {
              const CallScope outer("mean");
              const CallScope inner("sum");
              refused();
            }),
            "mean: " + plain);
  EXPECT_EQ(message([&] {
              const CallScope nameless("");
              const CallName inner("sum");
              refused();
            }),
            "sum: " + plain);
  EXPECT_EQ(message([&] {
              const CallName name("add");
              refused();
            }),
            plain)
      << "once is enough";
  EXPECT_EQ(message(refused), plain) << "the names are gone";
  EXPECT_EQ(message([&] { fail_midway(x); }),
            "fail_midway: add: shapes do not broadcast: [2] and [7]")
      << "a scope is named after the function that it is in";
}

TEST_F(CallScopeTest, a_single_op_that_is_refused_records_nothing) {
  const Value x = floats(cpu_, {1, 2});
  const uint64_t ops = cpu_.state().stats().ops;
  EXPECT_FALSE(error_of([&] { op(OpCode::add, {x, floats(cpu_, {1, 2, 3})}); }).ok());
  EXPECT_FALSE(error_of([&] { op(OpCode::logical_and, {x, x}); }).ok());
  EXPECT_FALSE(error_of([&] { op(OpCode::sum, {x}, ReduceAttrs{{1}, false}); }).ok());
  EXPECT_EQ(cpu_.state().stats().ops, ops);
}

}  // namespace
}  // namespace remora::test
