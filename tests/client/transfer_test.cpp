// Tensors on this machine and on a worker in one program.
#if REMORA_CPU && REMORA_REMOTE
#include "dispatch/device_state.h"
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
