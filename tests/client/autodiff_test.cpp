// The rules of autodiff: contexts, leaves, the tape. Gradients' values are gradients_test.cpp's.
#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <thread>

#include "client/apply.h"
#include "client/autodiff/node.h"
#include "dispatch/device_state.h"
#include "dispatch/window.h"
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

AutodiffContext enabled(Checkpointing strategy = Checkpointing::kDisabled) {
  return {true, strategy};
}

Tensor with_context(AutodiffContext context) {
  return Tensor::from_inner(floats({1, 2}, {2}), context);
}

TEST(autodiff, device_autodiff_conversions_are_idempotent) {
  const Device plain = test_device();
  const Device tracked = plain.autodiff();
  EXPECT_FALSE(plain.has_autodiff());
  EXPECT_TRUE(tracked.has_autodiff());
  EXPECT_EQ(tracked.checkpointing(), Checkpointing::kDisabled);
  const Device balanced = tracked.gradient_checkpointing();
  EXPECT_EQ(balanced.checkpointing(), Checkpointing::kBalanced);
  EXPECT_EQ(balanced.autodiff().checkpointing(), Checkpointing::kBalanced);
  EXPECT_EQ(balanced.gradient_checkpointing().checkpointing(), Checkpointing::kBalanced);
  EXPECT_FALSE(balanced.without_autodiff().has_autodiff());
  EXPECT_EQ(balanced.without_autodiff().checkpointing(), Checkpointing::kDisabled);
  EXPECT_FALSE(plain.without_autodiff().has_autodiff());
  EXPECT_TRUE(plain == balanced);
}

TEST(autodiff, checkpointing_requires_autodiff) {
  EXPECT_THROW(test_device().gradient_checkpointing(), Error);
}

TEST(autodiff, context_states) {
  EXPECT_EQ(floats({1}, {1}).context(), AutodiffContext{});
  const Tensor tracked_place = from_data({1.0F}, {1}, tracked_device());
  EXPECT_EQ(tracked_place.context(), enabled());
  EXPECT_FALSE(tracked_place.requires_grad());
  const Tensor trainable = tracked_place.require_grad();
  EXPECT_TRUE(trainable.requires_grad());
  EXPECT_TRUE(trainable.is_leaf());
  EXPECT_TRUE((trainable * 2).requires_grad());
  EXPECT_FALSE((trainable * 2).is_leaf());
  EXPECT_FALSE((tracked_place * 2).requires_grad());
  const Tensor balanced = zeros({1}, tracked_device().gradient_checkpointing());
  EXPECT_EQ(balanced.context(), enabled(Checkpointing::kBalanced));
  EXPECT_EQ(balanced.device().checkpointing(), Checkpointing::kBalanced);
}

TEST(autodiff, require_grad_needs_autodiff) {
  expect_error(kPrecondition, "device.autodiff()", [] { floats({1}, {1}).require_grad(); });
  expect_error(kInvalid, "i64 has no gradient",
               [] { from_data({1}, {1}, tracked_device()).require_grad(); });
}

TEST(autodiff, contexts_merge_float) {
  const Tensor plain = floats({3, 4}, {2});
  for (const auto strategy : {Checkpointing::kDisabled, Checkpointing::kBalanced}) {
    const Tensor tracked = with_context(enabled(strategy));
    EXPECT_EQ((plain + tracked).context(), enabled(strategy));
    EXPECT_EQ((tracked + plain).context(), enabled(strategy));
    EXPECT_EQ((tracked + tracked).context(), enabled(strategy));
  }
  EXPECT_EQ((plain + plain).context(), AutodiffContext{});
  const Tensor x = leaf({1, 2}, {2});
  (x * plain).backward(floats({1, 1}, {2}));  // the Disabled operand is a constant
  expect_floats(*x.grad(), {3, 4}, {2});
}

TEST(autodiff, contexts_merge_int) {
  const Tensor index = integers({0, 1}, {2});
  const Tensor tracked = with_context(enabled());
  EXPECT_EQ(gather(tracked, 0, index).context(), enabled());
  EXPECT_EQ(gather(floats({1, 2}, {2}), 0, Tensor::from_inner(index, enabled())).context(),
            enabled());
}

TEST(autodiff, contexts_merge_lists) {
  const Tensor plain = floats({3, 4}, {2});
  EXPECT_EQ(concat({plain, plain, with_context(enabled())}).context(), enabled());
  EXPECT_EQ(concat({with_context(enabled()), plain}).context(), enabled());
}

TEST(autodiff, contexts_merge_optionals) {
  const Tensor x = Tensor::from_inner(floats({1, 2}, {1, 2}), enabled());
  const Tensor weight = floats({1, 2}, {1, 2});
  EXPECT_EQ(linear(x, weight).context(), enabled());
  const Tensor bias = Tensor::from_inner(floats({1}, {1}), enabled());
  EXPECT_EQ(linear(x.inner(), weight, bias).context(), enabled());
}

TEST(autodiff, mismatched_strategies_fixed_arity) {
  const Tensor a = with_context(enabled());
  const Tensor b = with_context(enabled(Checkpointing::kBalanced));
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { a + b; }, [&] { b* a; }, [&] { where(a > 0, a, b); }, [&] { matmul(a, b); }}) {
    expect_error(kInvalid, "gradient checkpointing strategy mismatch", call);
  }
}

TEST(autodiff, mismatched_strategies_lists) {
  expect_error(kInvalid, "concat: gradient checkpointing strategy mismatch", [] {
    concat({floats({1}, {1}), with_context(enabled()),
            with_context(enabled(Checkpointing::kBalanced))});
  });
}

TEST(autodiff, int_to_float_keeps_association) {
  const Tensor x = leaf({1.5F, 2.5F}, {2});
  const Tensor whole = x.astype(DType::kI64);
  EXPECT_FALSE(whole.requires_grad());
  EXPECT_EQ(whole.context(), enabled());
  const Tensor back = whole.astype(DType::kF32);
  EXPECT_EQ(back.context(), enabled());
  EXPECT_FALSE(back.requires_grad());
  EXPECT_TRUE(back.require_grad().is_leaf());
  EXPECT_EQ((x > 2.0).context(), enabled());
}

TEST(autodiff, gradients_are_inner_tensors) {
  const Tensor x = leaf({1, 2}, {2});
  sum(x * x).backward();
  ASSERT_TRUE(x.grad().has_value());
  EXPECT_EQ(x.grad()->context(), AutodiffContext{});
  EXPECT_FALSE(x.grad()->requires_grad());
  expect_floats(*x.take_grad(), {2, 4}, {2});
  EXPECT_FALSE(x.grad().has_value());
  x.set_grad(floats({7, 8}, {2}));
  expect_floats(*x.grad(), {7, 8}, {2});
  expect_error(kInvalid, "set_grad", [&] { x.set_grad(floats({1}, {1})); });
  expect_error(kPrecondition, "no leaf", [&] { (x * 2).set_grad(floats({7, 8}, {2})); });
}

TEST(autodiff, gradients_accumulate_on_the_leaf) {
  const Tensor x = leaf({1, 2}, {2});
  sum(x * 3).backward();
  sum(x * 4).backward();
  expect_floats(*x.grad(), {7, 7}, {2});
}

TEST(autodiff, untracked_alias_has_no_gradient) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor alias = x.detach();
  sum(x * alias).backward();
  EXPECT_FALSE(alias.grad().has_value());
  expect_floats(*x.grad(), {1, 2}, {2});
  EXPECT_EQ(alias.context(), enabled());
}

TEST(autodiff, inner_transitions_clear_and_restore) {
  const Tensor x = leaf({1, 2}, {2});
  EXPECT_EQ(x.inner().context(), AutodiffContext{});
  EXPECT_FALSE(x.inner().requires_grad());
  EXPECT_EQ(Tensor::from_inner(x.inner(), x.context()).context(), enabled());
}

TEST(autodiff, backward_rejects_untracked) {
  expect_error(kPrecondition, "not tracked", [] { sum(floats({1}, {1})).backward(); });
  expect_error(kInvalid, "needs a cotangent", [] { (leaf({1, 2}, {2}) * 2).backward(); });
  expect_error(kInvalid, "the cotangent is f32[3]", [] {
    (leaf({1, 2}, {2}) * 2).backward(floats({1, 2, 3}, {3}));
  });
}

TEST(autodiff, no_grad_records_nothing) {
  const Tensor x = leaf({1, 2}, {2});
  {
    const auto guard = no_grad();
    EXPECT_FALSE((x * 2).requires_grad());
    const auto inner_guard = no_grad();
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(autodiff, tape_is_consumed) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor y = sum(x * x);
  y.backward(true);
  y.backward();
  expect_floats(*x.grad(), {4, 8}, {2});
  expect_error(kPrecondition, "was consumed by an earlier backward", [&] { y.backward(); });
  expect_floats(*x.grad(), {4, 8}, {2});
}

TEST(autodiff, tape_is_freed) {
  const int64_t before = autodiff::live_nodes();
  {
    const Tensor x = leaf({1, 2}, {2});
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = y * 1.5;
    EXPECT_EQ(autodiff::live_nodes(), before + 11);
    y = Tensor();
    EXPECT_EQ(autodiff::live_nodes(), before + 1);
    const Tensor loss = sum(x * x);
    loss.backward();
    EXPECT_EQ(autodiff::live_nodes(), before + 2);  // the leaf, and the root that `loss` holds
  }
  EXPECT_EQ(autodiff::live_nodes(), before);
}

TEST(autodiff, deep_tapes_need_no_stack) {
  const int64_t before = autodiff::live_nodes();
  {
    const Tensor x = leaf({1}, {});
    Tensor kept = x;
    Tensor dropped = x;
    for (int i = 0; i < 100'000; ++i) {
      kept = -kept;
      dropped = -dropped;
    }
    kept.backward();
    EXPECT_EQ(x.grad()->item<float>(), 1.0F);
  }
  EXPECT_EQ(autodiff::live_nodes(), before);
}

TEST(autodiff, throwing_changes_nothing) {
  manual_seed(11);
  const Tensor expected = uniform({4}, test_device());
  const std::vector<float> undisturbed = expected.to_vector<float>();
  manual_seed(11);
  const Tensor x = leaf({1, 2}, {2});
  const int64_t nodes = autodiff::live_nodes();
  EXPECT_THROW(dropout(x, 2.0), Error);
  EXPECT_THROW(
      {
        const dispatch::CallScope scope;
        const Tensor noise = uniform({8}, test_device());
        matmul(noise, x * 2.0);
      },
      Error);
  EXPECT_EQ(autodiff::live_nodes(), nodes);
  EXPECT_EQ(uniform({4}, test_device()).to_vector<float>(), undisturbed);
  EXPECT_FALSE(x.grad().has_value());
}

TEST(autodiff, grad_by_inner_tensors_accumulates_nowhere) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor y = x * x;
  const Tensor z = sum(y * 3);
  const std::vector<Tensor> inputs = {x, y};
  const auto gradients = autodiff::grad(z, inputs);
  expect_floats(gradients[0], {6, 12}, {2});
  expect_floats(gradients[1], {3, 3}, {2});
  EXPECT_FALSE(x.grad().has_value());
}

TEST(autodiff, grad_by_an_unrelated_input_is_zero) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor other = leaf({5}, {1});
  const std::vector<Tensor> inputs = {other};
  expect_floats(autodiff::grad(sum(x), inputs)[0], {0}, {1});
}

TEST(autodiff, multi_threaded_graphs) {
  const Tensor x = leaf({1, 2}, {2});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) sum(x * x).backward();
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_floats(*x.grad(), {200, 400}, {2});
}

TEST(autodiff, of_two_threads_that_consume_one_tape_one_wins) {
  for (int round = 0; round < 50; ++round) {
    const Tensor x = leaf({1, 2}, {2});
    Tensor y = x * x;
    for (int i = 0; i < 20; ++i) y = y * 1.0;
    const Tensor loss = sum(y);
    std::array<absl::StatusCode, 2> codes{};
    std::barrier<> start(2);
    const auto run = [&](absl::StatusCode& code) {
      start.arrive_and_wait();
      try {
        loss.backward();
      } catch (const Error& error) {
        code = error.code();
      }
    };
    std::thread other([&] { run(codes[1]); });
    run(codes[0]);
    other.join();
    EXPECT_NE(codes[0] == absl::StatusCode::kOk, codes[1] == absl::StatusCode::kOk);
    EXPECT_EQ(std::max(codes[0], codes[1]), kPrecondition);
    expect_floats(*x.grad(), {2, 4}, {2});
  }
}

TEST(autodiff, to_same_device_keeps_leaf) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor same = x.to(test_device());
  EXPECT_TRUE(same.is_leaf());
  sum(same * 2).backward();
  expect_floats(*x.grad(), {2, 2}, {2});
}

}  // namespace
}  // namespace remora
