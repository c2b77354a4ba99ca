// Programs that repeat themselves repeat their windows: what the rules of the op stream promise
// about plan hits.
#include <cmath>
#include <thread>

#include "dispatch/device_state.h"
#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "tests/support/device_variants.h"
#include "tests/support/generators.h"
#include "tests/support/values.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

constexpr int64_t kBatch = 16, kInputs = 8, kHidden = 12, kOutputs = 4;

Value op(OpCode code, std::vector<Value> inputs, const Attrs& attrs = NoAttrs{}) {
  return submit(code, inputs, attrs)[0];
}
Value transpose(const Value& x) { return op(OpCode::permute, {x}, PermuteAttrs{{1, 0}}); }
Value matmul(const Value& x, const Value& y) { return op(OpCode::matmul, {x, y}); }
Value sum_rows(const Value& x) { return op(OpCode::sum, {x}, ReduceAttrs{{0}, false}); }

/// A perceptron of two layers and its gradient written out by hand.
class HandWrittenTraining {
 public:
  HandWrittenTraining(const Device& device, uint64_t seed)
      : device_(device),
        seed_(seed),
        w1_(host(f32({kInputs, kHidden}, -0.5, 0.5))),
        b1_(host(f32({kHidden}))),
        w2_(host(f32({kHidden, kOutputs}, -0.5, 0.5))),
        b2_(host(f32({kOutputs}))) {}

  /// One step of gradient descent; gives the loss, a number that nobody has to read.
  Value step() {
    const Value x = host(f32({kBatch, kInputs}));
    const Value target = op(OpCode::sin, {matmul(x, host(f32({kInputs, kOutputs})))});
    const Value hidden = op(OpCode::relu, {op(OpCode::add, {matmul(x, w1_), b1_})});
    const Value error = op(OpCode::sub, {op(OpCode::add, {matmul(hidden, w2_), b2_}), target});
    const Value loss = op(OpCode::sum, {op(OpCode::square, {error})}, ReduceAttrs{{0, 1}, false});
    const Value open =
        op(OpCode::astype, {op(OpCode::greater, {hidden, number(0.0)})}, DTypeAttrs{DType::kF32});
    const Value by_hidden = op(OpCode::mul, {matmul(error, transpose(w2_)), open});
    // The rate falls from step to step: a param, which no plan's key holds.
    const Value rate = number(1e-3 / (1.0 + 1e-3 * ++steps_));
    update(w2_, matmul(transpose(hidden), error), rate);
    update(b2_, sum_rows(error), rate);
    update(w1_, matmul(transpose(x), by_hidden), rate);
    update(b1_, sum_rows(by_hidden), rate);
    return loss;
  }

 private:
  Value host(const Input& input) {
    return upload(device_, reference::to_host(generate(input, seed_ + ++draws_)));
  }
  Value number(double value) {
    return submit(OpCode::full, {}, FullAttrs{DType::kF32, {}, value}, &device_)[0];
  }
  static void update(Value& parameter, const Value& gradient, const Value& rate) {
    parameter = op(OpCode::sub, {parameter, op(OpCode::mul, {gradient, rate})});
  }

  const Device device_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  int steps_ = 0;
  Value w1_, b1_, w2_, b2_;
};

double item(const Value& value) { return reference::from_host(dispatch::read(value)).as_real(0); }

class PlanHits : public OnEveryDevice {
 protected:
  struct Count {
    uint64_t hits = 0;
    uint64_t misses = 0;
    double rate() const { return static_cast<double>(hits) / static_cast<double>(hits + misses); }
  };
  /// Hits and misses of the device while `work` runs to its end.
  template <typename Work>
  Count count(Work&& work) const {
    device().synchronize();
    const DeviceStats before = device().state().stats();
    work();
    device().synchronize();
    const DeviceStats after = device().state().stats();
    return {after.plan_hits - before.plan_hits, after.plan_misses - before.plan_misses};
  }
};

void train(HandWrittenTraining& training, int steps, int log_every, const Device* flush_each_step) {
  for (int step = 1; step <= steps; ++step) {
    const Value loss = training.step();
    if (flush_each_step != nullptr) flush_each_step->flush();
    if (step % log_every == 0) {
      EXPECT_TRUE(std::isfinite(item(loss)));
    }
  }
}

TEST_P(PlanHits, training_without_an_optimizer_and_with_logging_every_7_steps) {
  HandWrittenTraining training(device(), 1);
  train(training, 70, 7, nullptr);
  const Count after_warm_up = count([&] { train(training, 700, 7, nullptr); });
  EXPECT_GE(after_warm_up.rate(), 0.99)
      << after_warm_up.hits << " hits, " << after_warm_up.misses << " misses";
  EXPECT_GT(after_warm_up.hits, 90u);
}

TEST_P(PlanHits, training_with_a_hard_end_at_every_step_always_hits) {
  HandWrittenTraining training(device(), 3);
  const Device where = device();
  train(training, 14, 7, &where);
  const Count after_warm_up = count([&] { train(training, 350, 7, &where); });
  EXPECT_EQ(after_warm_up.misses, 0u);
  EXPECT_EQ(after_warm_up.hits, 350u) << "one window a step";
}

TEST_P(PlanHits, two_threads_training_at_once) {
  HandWrittenTraining first(device(), 4), second(device(), 5);
  const auto both = [&](int steps) {
    std::thread other([&] { train(second, steps, 7, nullptr); });
    train(first, steps, 7, nullptr);
    other.join();
  };
  both(140);
  const Count after_warm_up = count([&] { both(700); });
  EXPECT_GE(after_warm_up.rate(), 0.99)
      << after_warm_up.hits << " hits, " << after_warm_up.misses << " misses";
}

/// More than two thousand ops of many shapes and no hard end.
Value long_step(const Device& device) {
  Value x = submit(OpCode::full, {}, FullAttrs{DType::kF32, {2}, 0.0}, &device)[0];
  for (int64_t i = 0; i < 700; ++i) {
    const Value rows =
        submit(OpCode::full, {}, FullAttrs{DType::kF32, {1 + i % 97, 2}, 0.5}, &device)[0];
    x = op(OpCode::add, {x, sum_rows(rows)});
  }
  return x;
}

TEST_P(PlanHits, first_pass_is_several_windows_second_one_window_later_ones_hits) {
  const Device where = device();
  for (int pass = 0; pass < 5; ++pass) {
    where.synchronize();
    const DeviceStats before = where.state().stats();
    const Value result = long_step(where);
    (void)item(result);
    const DeviceStats after = where.state().stats();
    if (pass == 0) {
      EXPECT_GT(after.windows - before.windows, 5u) << "the device starts early";
    } else {
      EXPECT_EQ(after.windows - before.windows, 1u) << "pass " << pass;
      EXPECT_EQ(after.plan_misses - before.plan_misses, pass == 1 ? 1u : 0u) << "pass " << pass;
    }
  }
}

TEST_P(PlanHits, a_loop_without_hard_ends_keeps_content_defined_windows) {
  const Device where = device();
  where.synchronize();
  Value result = long_step(where);
  for (int i = 0; i < 3; ++i) result = long_step(where);
  // Not `count`, whose synchronization would be a hard end.
  where.state().executor().wait_until_empty(where.state().queue());
  const DeviceStats before = where.state().stats();
  for (int i = 0; i < 20; ++i) result = long_step(where);
  (void)item(result);
  const DeviceStats after = where.state().stats();
  EXPECT_GT(after.windows - before.windows, 100u);
  EXPECT_LE(after.plan_misses - before.plan_misses, 1u) << "the last window, which the read ends";
}

REMORA_ON_EVERY_DEVICE(PlanHits);

}  // namespace
}  // namespace remora::test
