// Tensors on this machine and on a worker in one program.
#if REMORA_CPU && REMORA_REMOTE
#include "client/autodiff/balanced.h"
#include "dispatch/device_state.h"
#include "dispatch/submit.h"
#include "tests/client/device.h"
#include "tests/support/worker_process.h"

namespace remora {
namespace {

class Transfer : public testing::Test {
 protected:
  Device local() const { return Device::cpu(); }
  Device remote() const { return Device::parse(worker_.device()); }

 private:
  test::WorkerProcess worker_;
};

TEST_F(Transfer, transfers_preserve_values_and_context) {
  const Tensor x = from_data({1.0, 2.0}, {2}, local().autodiff());
  const Tensor there = x.to(remote());
  EXPECT_TRUE(there.device() == remote());
  EXPECT_EQ(there.context(), x.context());
  EXPECT_EQ(from_data({1}, {1}, local()).to(remote().autodiff()).context(), AutodiffContext{});
  expect_floats(there * 2, {2, 4}, {2});
  expect_floats(there.to(local()), {1, 2}, {2});
  expect_booleans((there > 1.5).to(local()), {false, true}, {2});
}

TEST_F(Transfer, backward_crosses_transfer) {
  const Tensor x = from_data({1.0, 2.0}, {2}, local().autodiff()).require_grad();
  const Tensor far = sum(square(x.to(remote())));
  const Tensor near = sum(x * 10).to(remote());
  (far + near).backward();
  EXPECT_TRUE(x.grad()->device() == local());
  expect_floats(*x.grad(), {12, 14}, {2});
}

TEST_F(Transfer, recorded_transfer_is_not_replayed) {
  const autodiff::CheckpointCostsScope scope(autodiff::CheckpointCostsScope::nothing_kept());
  constexpr int64_t kCount = 100'000;
  constexpr uint64_t kBytes = kCount * sizeof(float);
  const Tensor x = zeros({kCount}, local().autodiff().gradient_checkpointing()).require_grad();
  const Tensor there = exp(x).to(remote());
  const Tensor result = sum(tanh(exp(there)));
  (void)result.item<float>();
  const dispatch::WireStats before = remote().state().stats().wire;
  const uint64_t ops = remote().state().stats().ops;
  result.backward();
  EXPECT_EQ(x.grad()->to_vector<float>()[1], (x.grad()->to_vector<float>()[0]));
  const dispatch::WireStats after = remote().state().stats().wire;
  EXPECT_LT(after.bytes_sent - before.bytes_sent, kBytes / 2);  // nothing goes there again
  EXPECT_LT(after.bytes_received - before.bytes_received, 3 * kBytes / 2);  // the gradient returns
  EXPECT_GE(remote().state().stats().ops - ops, 2U);
}

TEST_F(Transfer, mixed_device_operands_are_moved) {
  const Tensor x = from_data({1.0, 2.0}, {2}, remote().autodiff()).require_grad();
  const Tensor y = from_data({3.0, 4.0}, {2}, local().autodiff()).require_grad();
  const uint64_t before = remote().state().stats().moved_operands;
  const Tensor product = x * y;
  EXPECT_TRUE(product.device() == remote());
  EXPECT_EQ(remote().state().stats().moved_operands, before + 1);
  sum(product).backward();
  expect_floats(*x.grad(), {3, 4}, {2});
  expect_floats(*y.grad(), {1, 2}, {2});
  EXPECT_TRUE(y.grad()->device() == local());
}

TEST_F(Transfer, routing_first_float_then_first) {
  const Tensor index = from_data({1, 0}, {2}, local());
  const Tensor table = from_data({5.0, 6.0}, {2}, remote());
  EXPECT_TRUE(gather(table, 0, index).device() == remote());
  EXPECT_TRUE((index + from_data({1, 1}, {2}, remote())).device() == local());
  EXPECT_TRUE((index + table).device() == remote());
}

TEST_F(Transfer, routing_lists_and_optionals) {
  const Tensor whole = from_data({1, 2}, {2}, local());
  const Tensor there = from_data({5.0, 6.0}, {2}, remote());
  const Tensor here = from_data({7.0, 8.0}, {2}, local());
  EXPECT_TRUE(concat({whole, there, here}).device() == remote()) << "the first float of a list";
  expect_floats(concat({whole, there, here}), {1, 2, 5, 6, 7, 8}, {6});
  EXPECT_TRUE(concat({here, there}).device() == local());
  EXPECT_TRUE(concat({whole, from_data({3}, {1}, remote())}).device() == local());
  // Optional operands: absent ones are skipped, those that are there follow.
  const Tensor rows = from_data({1.0, 3.0}, {1, 2}, remote());
  EXPECT_TRUE(layer_norm(rows, {2}).device() == remote());
  EXPECT_TRUE(layer_norm(rows, {2}, here).device() == remote());
  EXPECT_TRUE(layer_norm(rows, {2}, {}, here).device() == remote());
  expect_error(absl::StatusCode::kInvalidArgument, "at least one tensor", [] { concat({}); });
  expect_error(absl::StatusCode::kInvalidArgument, "concat",
               [] { dispatch::invoke("concat", {}, dispatch::AxisAttrs{0}); });
}

TEST_F(Transfer, strict_devices_refuses) {
  const Tensor x = from_data({1.0, 2.0}, {2}, remote());
  const Tensor y = from_data({3.0, 4.0}, {2}, local());
  const uint64_t moved = dispatch::stats().moved_operands;
  const auto refused = [&](const std::string& op, auto call) {
    expect_error(absl::StatusCode::kFailedPrecondition, op + ": an operand is on cpu", call);
    expect_error(absl::StatusCode::kFailedPrecondition, remote().str(), call);
  };
  strict_devices(true);
  refused("mul", [&] { (void)(x * y); });
  refused("where", [&] { (void)where(x > 1.5, x, y); });
  refused("concat", [&] { (void)concat({x, y}); });
  refused("matmul", [&] { (void)matmul(x, y); });
  EXPECT_EQ(dispatch::stats().moved_operands, moved);
  expect_floats(x * y.to(remote()), {3, 8}, {2});
  strict_devices(false);
  expect_floats(x * y, {3, 8}, {2});
  EXPECT_EQ(dispatch::stats().moved_operands, moved + 1);
}

/// The losses of a short training run.
std::vector<float> train(const Device& device) {
  manual_seed(5);
  nn::Sequential model(nn::Conv2d(1, 3, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                       nn::Linear(12, 4));
  model.to(device.autodiff());
  optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
  std::vector<ReadFuture> losses;
  for (int step = 0; step < 12; ++step) {
    const Tensor images = normal({5, 1, 6, 6}, device.autodiff());
    const Tensor labels = randint(0, 4, {5}, device);
    const Tensor loss = cross_entropy(model(images), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    losses.push_back(loss.read_async());
  }
  std::vector<float> values;
  values.reserve(losses.size());
  for (const ReadFuture& loss : losses) values.push_back(loss.item<float>());
  return values;
}

TEST_F(Transfer, training_gives_the_same_bits_on_a_worker) {
  ASSERT_EQ(remote().state().backend().info().fingerprint,
            local().state().backend().info().fingerprint);
  EXPECT_EQ(train(remote()), train(local()));
}

TEST_F(Transfer, parameters_are_drawn_alike_and_move) {
  std::vector<std::vector<float>> drawn;
  for (const Device& device : {local(), remote()}) {
    manual_seed(8);
    nn::Linear layer(3, 2);
    layer.to(device);
    drawn.push_back(layer.parameters()[0].tensor().to_vector<float>());
    layer.to(local().autodiff());
    EXPECT_TRUE(layer.parameters()[0].tensor().device() == local());
    EXPECT_TRUE(layer.parameters()[0].tensor().is_leaf());
    EXPECT_EQ(layer.parameters()[0].tensor().to_vector<float>(), drawn.back());
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

}  // namespace
}  // namespace remora
#endif
