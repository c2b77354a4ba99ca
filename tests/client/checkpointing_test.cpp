// Balanced checkpointing: what backward recomputes, how often, with which bits, and what that
// leaves in memory.
#include <functional>
#include <string>
#include <vector>

#include "client/autodiff/balanced.h"
#include "dispatch/device_state.h"
#include "tests/client/device.h"
#include "tests/support/device_variants.h"

namespace remora {
namespace {

using autodiff::CheckpointCosts;
using autodiff::CheckpointCostsScope;
using Leaves = std::vector<Tensor>;

class GradientCheckpointing : public test::OnEveryDevice {
 protected:
  Device plain() const { return device().autodiff(); }
  Device balanced() const { return plain().gradient_checkpointing(); }
  uint64_t ops() const { return device().state().stats().ops; }
};

std::vector<float> numbers(int64_t count, float first) {
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(first + 0.01F * static_cast<float>(i % 97));
  return result;
}

Leaves leaves_on(const Device& device, const std::vector<Shape>& shapes) {
  Leaves leaves;
  for (const Shape& shape : shapes) {
    const auto first = 0.1F + 0.05F * static_cast<float>(leaves.size());
    leaves.push_back(from_data(numbers(shape.numel(), first), shape, device).require_grad());
  }
  return leaves;
}

std::vector<std::vector<float>> read_gradients(const Leaves& leaves) {
  std::vector<std::vector<float>> result;
  for (const Tensor& leaf : leaves) result.push_back(leaf.grad()->to_vector<float>());
  return result;
}

/// A function of its leaves, and how many ops its backward runs again.
struct Graph {
  std::string name;
  std::vector<Shape> leaves;
  std::function<Tensor(const Leaves&)> result;
  uint64_t recomputed_ops;
  CheckpointCosts costs = CheckpointCostsScope::nothing_kept();
};

/// Products count as too much work.
CheckpointCosts without_products() {
  CheckpointCosts costs = CheckpointCostsScope::nothing_kept();
  costs.work_per_byte = 8.0;
  return costs;
}

std::vector<Graph> graphs() {
  const Shape row{8};
  return {
      {"chain", {row}, [](const Leaves& x) { return tanh(exp(sin(x[0]))); }, 3},
      {"diamond",
       {row},
       [](const Leaves& x) {
         const Tensor a = exp(x[0]);
         return sin(a) * cos(a);
       },
       3},
      {"shared input",
       {row},
       [](const Leaves& x) { return exp(x[0]) * tanh(x[0]) + sigmoid(x[0]); },
       3},
      {"stacked blocks",
       {row, row, row, row},
       [](const Leaves& x) {
         Tensor h = x[0];
         for (size_t i = 1; i < x.size(); ++i) h = h + tanh(h * x[i]);
         return h;
       },
       8},
      {"behind an op that is not run again",
       {{4, 64}, {64, 64}},
       [](const Leaves& x) {
         const Tensor product = matmul(x[0], x[1]);
         return tanh(product) + sigmoid(product);
       },
       2,
       without_products()},
      // The product need not stay for one value: that value stays.
      {"a single value behind such an op",
       {{4, 64}, {64, 64}},
       [](const Leaves& x) { return tanh(matmul(x[0], x[1])); },
       0,
       without_products()},
  };
}

TEST_P(GradientCheckpointing, checkpointing_graph_shapes) {
  for (const Graph& graph : graphs()) {
    SCOPED_TRACE(graph.name);
    const CheckpointCostsScope scope(graph.costs);
    std::vector<std::vector<std::vector<float>>> gradients;
    std::vector<uint64_t> backward_ops;
    for (const Device& device : {plain(), balanced()}) {
      const Leaves leaves = leaves_on(device, graph.leaves);
      const Tensor result = sum(graph.result(leaves));
      for (int pass = 0; pass < 2; ++pass) {  // a tape that is kept recomputes again
        for (const Tensor& leaf : leaves) leaf.set_grad(std::nullopt);
        const uint64_t before = ops();
        result.backward(pass == 0);
        backward_ops.push_back(ops() - before);
        gradients.push_back(read_gradients(leaves));
      }
    }
    EXPECT_EQ(gradients[1], gradients[0]);
    EXPECT_EQ(gradients[2], gradients[0]);
    EXPECT_EQ(gradients[3], gradients[0]);
    EXPECT_EQ(backward_ops[2] - backward_ops[0], graph.recomputed_ops);
    EXPECT_EQ(backward_ops[3] - backward_ops[1], graph.recomputed_ops);
  }
}

TEST_P(GradientCheckpointing, gradients_of_gradients_recompute_too) {
  const CheckpointCostsScope scope(CheckpointCostsScope::nothing_kept());
  std::vector<std::vector<std::vector<float>>> gradients;
  for (const Device& device : {plain(), balanced()}) {
    const Leaves leaves = leaves_on(device, {{8}, {8}});
    const Tensor result = sum(tanh(exp(leaves[0]) * leaves[1]) * leaves[0]);
    const auto first = autodiff::grad(result, leaves, Tensor(), {.create_graph = true});
    sum(first[0] * square(first[1])).backward();
    gradients.push_back(read_gradients(leaves));
  }
  EXPECT_EQ(gradients[1], gradients[0]);
}

TEST_P(GradientCheckpointing, checkpointing_reuses_rng) {
  const CheckpointCostsScope scope(CheckpointCostsScope::nothing_kept());
  std::vector<std::vector<std::vector<float>>> gradients;
  std::vector<std::vector<float>> results, drawn_later;
  for (const Device& device : {plain(), balanced()}) {
    manual_seed(5);
    const Leaves leaves = leaves_on(device, {{64}});
    const Tensor noise = normal({64}, device);
    const Tensor result = dropout(tanh(leaves[0] * noise), 0.5);
    const uint64_t before = ops();
    (result * result).backward(uniform({64}, this->device()));
    EXPECT_GT(ops() - before, 0U);
    results.push_back(result.to_vector<float>());
    gradients.push_back(read_gradients(leaves));
    drawn_later.push_back(uniform({8}, this->device()).to_vector<float>());
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(gradients[1], gradients[0]);
  EXPECT_EQ(drawn_later[1], drawn_later[0]);  // recomputing takes nothing from the generator
}

TEST_P(GradientCheckpointing, recomputing_waits_for_nobody) {
  const CheckpointCostsScope scope(CheckpointCostsScope::nothing_kept());
  const Leaves leaves = leaves_on(balanced(), {{64}});
  const Tensor result = sum(tanh(exp(leaves[0])));
  device().synchronize();
  const uint64_t before = device().state().stats().wire.round_trips;
  result.backward();
  EXPECT_EQ(device().state().stats().wire.round_trips, before);
}

TEST_P(GradientCheckpointing, deep_tapes_need_no_stack) {
  const CheckpointCostsScope scope(CheckpointCostsScope::nothing_kept());
  const Leaves leaves = leaves_on(balanced(), {{2}});
  Tensor kept = leaves[0];
  Tensor dropped = leaves[0];
  for (int i = 0; i < 20'000; ++i) {
    kept = tanh(kept);
    dropped = tanh(dropped);
  }
  kept.backward(ones({2}, device()));
  EXPECT_EQ(leaves[0].grad()->shape(), (Shape{2}));
}

TEST_P(GradientCheckpointing, values_of_no_great_size_are_kept) {
  const Leaves leaves = leaves_on(balanced(), {{64}});
  const Tensor result = sum(tanh(exp(leaves[0])));
  const Leaves others = leaves_on(plain(), {{64}});
  const Tensor other = sum(tanh(exp(others[0])));
  const uint64_t before = ops();
  result.backward();
  const uint64_t between = ops();
  other.backward();
  EXPECT_EQ(between - before, ops() - between);
}

REMORA_ON_EVERY_DEVICE(GradientCheckpointing);

#if REMORA_CPU

/// Normalisation, activation and product, beside a residual stream.
Tensor blocks(Tensor h, const Leaves& weights) {
  for (const Tensor& weight : weights) {
    h = h + matmul(dropout(gelu(layer_norm(h, {h.size(-1)})), 0.1), weight);
  }
  return h;
}

/// Most bytes at once in a step that has been run before.
int64_t peak_bytes(const Device& device) {
  const Leaves weights = leaves_on(device, std::vector<Shape>(12, Shape{64, 64}));
  const Tensor x = from_data(numbers(1024 * 64, 0.1F), {1024, 64}, device);
  for (int step = 0; step < 4; ++step) {
    device.synchronize();
    device.reset_peak_memory();
    mean(blocks(x, weights)).backward();
  }
  device.synchronize();
  return device.memory().peak_bytes;
}

TEST(checkpointing_memory, peak_memory_falls) {
  const int64_t kept_bytes = peak_bytes(Device::cpu().autodiff());
  const int64_t recomputed_bytes = peak_bytes(Device::cpu().autodiff().gradient_checkpointing());
  EXPECT_GT(static_cast<double>(kept_bytes), 2.5 * static_cast<double>(recomputed_bytes));
}

TEST(checkpointing_memory, a_tensor_that_outlives_its_tape_keeps_only_itself) {
  const Device device = Device::cpu().autodiff().gradient_checkpointing();
  const int64_t row_bytes = int64_t{1} << 20;
  const Tensor x = from_data(numbers(row_bytes / 4, 0.1F), {row_bytes / 4}, device).require_grad();
  device.synchronize();
  const int64_t before_bytes = device.memory().live_bytes;
  const Tensor kept = exp(sin(tanh(x + 0.0)));
  sum(kept * kept).backward();
  x.set_grad(std::nullopt);
  device.synchronize();
  EXPECT_LT(device.memory().live_bytes, before_bytes + row_bytes + row_bytes / 2);
}

#endif

}  // namespace
}  // namespace remora
