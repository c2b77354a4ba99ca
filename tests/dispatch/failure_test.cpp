// Ops that fail when they run: what is poisoned, and that it is the same however the window ran.
#include <thread>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

class FailureTest : public testing::Test {
 protected:
  /// A program with two failing ops, what depends on them and what does not.
  std::vector<Value> record(bool flush_each) {
    const auto step = [&](Value value) {
      if (flush_each) cpu_.flush();
      return value;
    };
    const Value data = floats(cpu_, {1, 2, 3});
    const Value good_index = integers(cpu_, {2, 0});
    const Value bad_index = integers(cpu_, {0, 3});
    const Value worse_index = integers(cpu_, {-1, 0});
    const Value fine = step(op(OpCode::gather, {data, good_index}, AxisAttrs{0}));
    const Value failed = step(op(OpCode::gather, {data, bad_index}, AxisAttrs{0}));
    const Value failed_later = step(op(OpCode::gather, {data, worse_index}, AxisAttrs{0}));
    const Value dependent = step(op(OpCode::exp, {failed}));
    const Value of_both = step(op(OpCode::add, {failed_later, failed}));
    const Value independent = step(op(OpCode::add, {fine, fine}));
    const Value mixed = step(op(OpCode::mul, {independent, dependent}));
    return {fine, failed, failed_later, dependent, of_both, independent, mixed};
  }
  /// "ok [..]" or the error of each.
  static std::vector<std::string> outcomes(const std::vector<Value>& values) {
    std::vector<std::string> result;
    for (const Value& value : values) {
      const absl::Status status = error_of([&] { (void)read(value); });
      std::string outcome = status.ToString();
      if (status.ok()) {
        for (const double number : numbers(value)) outcome += " " + std::to_string(number);
      }
      result.push_back(outcome);
    }
    return result;
  }

  const Device cpu_ = Device::cpu();
};

TEST_F(FailureTest, a_failed_op_poisons_its_dependents_and_nothing_else) {
  const auto values = record(false);
  EXPECT_EQ(numbers(values[0]), (Numbers{3, 1}));
  EXPECT_EQ(numbers(values[5]), (Numbers{6, 2}));
  for (const size_t poisoned : {1, 3, 6}) {
    EXPECT_TRUE(fails_with(error_of([&] { (void)read(values[poisoned]); }),
                           absl::StatusCode::kInvalidArgument, {"gather", "index 3", "[0, 3)"}));
  }
  EXPECT_TRUE(fails_with(error_of([&] { (void)read(values[4]); }),
                         absl::StatusCode::kInvalidArgument, {"gather", "index -1"}))
      << "the first operand's error";
}

TEST_F(FailureTest, plan_failure_equals_eager_failure) {
  const auto whole = outcomes(record(false));
  const auto eager = outcomes(record(true));
  EXPECT_EQ(whole, eager);
  const ScopedHooks hooks(cpu_, {.max_ops_at_once = 1});
  EXPECT_EQ(outcomes(record(false)), eager) << "op by op";
}

TEST_F(FailureTest, errors_name_the_call_that_recorded_the_op) {
  const auto record_rows = [&] {
    const Value data = floats(cpu_, {1, 2, 3});
    const auto call = [&](std::string_view name, double index) {
      const CallScope scope(name);
      return op(OpCode::gather, {op(OpCode::neg, {data}), integers(cpu_, {index})}, AxisAttrs{0});
    };
    (void)error_of([&] {  // forgotten, its name too
      const CallScope scope("forgotten");
      op(OpCode::add, {op(OpCode::exp, {data}), floats(cpu_, {1, 2})});
    });
    const Value first = call("embedding", 7);
    const Value second = call("take", 8);
    return std::vector<Value>{op(OpCode::exp, {first}), second};
  };
  const auto whole = outcomes(record_rows());
  EXPECT_THAT(whole[0], testing::HasSubstr(": embedding: gather: "));
  EXPECT_THAT(whole[1], testing::HasSubstr(": take: gather: "));
  const ScopedHooks hooks(cpu_, {.max_ops_at_once = 1});
  EXPECT_EQ(outcomes(record_rows()), whole) << "op by op";
}

TEST_F(FailureTest, a_poisoned_input_poisons_only_what_depends_on_it) {
  const Value bad = op(OpCode::gather, {floats(cpu_, {1}), integers(cpu_, {5})}, AxisAttrs{0});
  cpu_.synchronize();
  ASSERT_TRUE(bad->poisoned());
  const Value dependent = op(OpCode::neg, {bad});
  const Value independent = op(OpCode::neg, {floats(cpu_, {4})});
  EXPECT_EQ(numbers(independent), (Numbers{-4}));
  EXPECT_EQ(error_of([&] { (void)read(dependent); }).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FailureTest, a_window_that_does_not_fit_whole_runs_op_by_op_with_the_same_result) {
  const auto program = [&] {
    Value x = floats(cpu_, {1, 2, 3});
    for (int i = 0; i < 5; ++i) x = op(OpCode::add, {x, op(OpCode::square, {x})});
    return numbers(x);
  };
  const Numbers expected = program();
  const uint64_t runs = backend_of(cpu_).runs();
  const ScopedHooks hooks(cpu_, {.max_ops_at_once = 1});
  EXPECT_EQ(program(), expected);
  EXPECT_EQ(backend_of(cpu_).runs() - runs, 11u) << "one refusal, ten ops";
}

TEST_F(FailureTest, only_the_op_that_does_not_fit_is_poisoned) {
  const ScopedHooks hooks(cpu_,
                          {.fail_op =
                               [](const GraphOp& failing) {
                                 return failing.info->code == OpCode::exp
                                            ? absl::ResourceExhaustedError("exp: does not fit")
                                            : absl::OkStatus();
                               },
                           .max_ops_at_once = 1});
  const Value x = floats(cpu_, {1});
  const Value before = op(OpCode::neg, {x});
  const Value large = op(OpCode::exp, {before});
  const Value after = op(OpCode::add, {before, x});
  EXPECT_EQ(numbers(after), (Numbers{0}));
  EXPECT_TRUE(fails_with(error_of([&] { (void)read(large); }), absl::StatusCode::kResourceExhausted,
                         {"exp"}));
}

TEST_F(FailureTest, an_error_travels_with_a_transfer) {
  const Value bad = op(OpCode::gather, {floats(cpu_, {1}), integers(cpu_, {5})}, AxisAttrs{0});
  const Value moved = transfer(bad, Device::cpu(1));
  const Value dependent = op(OpCode::neg, {moved});
  EXPECT_TRUE(fails_with(error_of([&] { (void)read(dependent); }),
                         absl::StatusCode::kInvalidArgument, {"gather"}));
}

TEST_F(FailureTest, a_failed_window_is_still_a_plan_hit) {
  PlanCache& plans = cpu_.state().plans();
  (void)outcomes(record(false));
  const uint64_t misses = plans.misses();
  (void)outcomes(record(false));
  EXPECT_EQ(plans.misses(), misses);
}

}  // namespace
}  // namespace remora::test
