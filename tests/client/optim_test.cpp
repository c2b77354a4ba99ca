// Optimizers against values computed by hand from PyTorch's formulas, modules and parameters.
#include <cmath>

#include "dispatch/device_state.h"
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

nn::Parameter parameter(const std::vector<float>& values) {
  nn::Parameter made({static_cast<int64_t>(values.size())}, [values](const Device& device) {
    return from_data(values, {static_cast<int64_t>(values.size())}, device);
  });
  made.to(tracked_device());
  return made;
}

void set_gradient(const nn::Parameter& parameter, const std::vector<float>& values) {
  parameter.tensor().set_grad(floats(values, parameter.shape()));
}

TEST(optim, sgd_follows_the_gradient) {
  const nn::Parameter p = parameter({1, -2});
  optim::SGD optimizer({p}, {.learning_rate = 0.5});
  set_gradient(p, {2, 4});
  optimizer.step();
  expect_floats(p.tensor().inner(), {0, -4}, {2});
}

TEST(optim, sgd_momentum_weight_decay_and_nesterov) {
  // PyTorch: g += decay w; v = mu v + g (v = g at first); g = g + mu v; w -= lr g
  for (const bool nesterov : {false, true}) {
    const nn::Parameter p = parameter({1});
    optim::SGD optimizer(
        {p}, {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.5, .nesterov = nesterov});
    double w = 1.0;
    double v = 0.0;
    for (int step = 0; step < 3; ++step) {
      const double raw = 1.0 + step;
      const double g = raw + 0.5 * w;
      v = step == 0 ? g : 0.9 * v + g;
      w -= 0.1 * (nesterov ? g + 0.9 * v : v);
      set_gradient(p, {static_cast<float>(raw)});
      optimizer.step();
      expect_near(p.tensor(), {static_cast<float>(w)}, 1e-6F);
    }
  }
}

TEST(optim, adamw_decouples_weight_decay) {
  const nn::Parameter p = parameter({0.5F});
  optim::AdamW optimizer(
      {p}, {.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-6, .weight_decay = 0.2});
  double w = 0.5;
  double m = 0.0;
  double v = 0.0;
  for (int step = 1; step <= 4; ++step) {
    const double g = 0.3 * step - 0.5;
    w *= 1.0 - 0.1 * 0.2;
    m = 0.8 * m + 0.2 * g;
    v = 0.9 * v + 0.1 * g * g;
    const double denominator = std::sqrt(v) / std::sqrt(1.0 - std::pow(0.9, step)) + 1e-6;
    w -= 0.1 / (1.0 - std::pow(0.8, step)) * m / denominator;
    set_gradient(p, {static_cast<float>(g)});
    optimizer.step();
    expect_near(p.tensor(), {static_cast<float>(w)}, 1e-5F);
  }
}

TEST(optim, step_keeps_leaf_and_gradient_and_zero_grad_clears_it) {
  const nn::Parameter p = parameter({1, 2});
  optim::SGD optimizer({p}, {.learning_rate = 1.0});
  sum(p.tensor() * 3).backward();
  optimizer.step();
  EXPECT_TRUE(p.tensor().is_leaf());
  expect_floats(*p.tensor().grad(), {3, 3}, {2});
  sum(p.tensor() * 2).backward();
  expect_floats(*p.tensor().grad(), {5, 5}, {2});
  optimizer.zero_grad();
  EXPECT_FALSE(p.tensor().grad().has_value());
  optimizer.step();  // nothing to follow
  expect_floats(p.tensor().inner(), {-2, -1}, {2});
}

TEST(optim, options_are_checked) {
  const nn::Parameter p = parameter({1});
  expect_error(kInvalid, "no parameters", [] { optim::SGD({}); });
  expect_error(kInvalid, "learning_rate", [&] { optim::SGD({p}, {.learning_rate = -1}); });
  expect_error(kInvalid, "nesterov", [&] { optim::SGD({p}, {.nesterov = true}); });
  expect_error(kInvalid, "beta2", [&] { optim::AdamW({p}, {.beta2 = 1.0}); });
  expect_error(kInvalid, "learning_rate", [&] {
    optim::SGD optimizer({p});
    optimizer.set_learning_rate(std::nan(""));
  });
}

TEST(optim, a_training_step_is_one_window_and_a_known_plan) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  model.to(tracked_device());
  optim::AdamW optimizer(model.parameters());
  dispatch::DeviceState& state = test_device().state();
  const Tensor x = uniform({16, 4}, tracked_device());
  const Tensor target = (sum(x, 1) > 2.0).astype(DType::kI64);
  x.to_vector<float>();
  target.to_vector<int64_t>();
  dispatch::DeviceStats before;
  constexpr int kWarmUp = 5;
  constexpr int kSteps = 20;
  float first = 0;
  float last = 0;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    if (step == kWarmUp) before = state.stats();
    const Tensor loss = cross_entropy(model(x), target);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    optimizer.set_learning_rate(1e-2 / (1 + step));  // a schedule changes no plan
    (step == 0 ? first : last) = loss.item<float>();
  }
  const dispatch::DeviceStats after = state.stats();
  EXPECT_EQ(after.windows - before.windows, static_cast<uint64_t>(kSteps));
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_LT(last, first);
}

TEST(nn, parameters_are_named_in_order) {
  const nn::Sequential model(nn::Conv2d(1, 4, 3), nn::ReLU(),
                             nn::Sequential(nn::Flatten(), nn::Linear(16, 2, false)));
  std::vector<std::string> names;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    names.push_back(named.name + " " + named.parameter.shape().str());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight [4, 1, 3, 3]", "0.bias [4]",
                                             "2.1.weight [2, 16]"}));
}

TEST(nn, the_same_seed_gives_the_same_parameters_within_their_bound) {
  std::vector<std::vector<float>> draws;
  for (int i = 0; i < 2; ++i) {
    manual_seed(9);
    nn::Sequential model(nn::Linear(16, 4), nn::Linear(4, 4));
    model.to(test_device());
    draws.push_back(model.parameters()[0].tensor().to_vector<float>());
    for (const float value : draws.back()) EXPECT_LE(std::fabs(value), 0.25F);
    EXPECT_FALSE(model.parameters()[0].tensor().requires_grad());
    model.to(tracked_device());
    EXPECT_TRUE(model.parameters()[0].tensor().is_leaf());
  }
  EXPECT_EQ(draws[0], draws[1]);
}

TEST(nn, dropout_heeds_the_mode) {
  nn::Sequential model(nn::Dropout(0.5));
  const Tensor x = ones({1000}, test_device());
  manual_seed(1);
  const double kept = sum(model(x) > 0).item<double>();
  EXPECT_GT(kept, 400);
  EXPECT_LT(kept, 600);
  model.eval();
  EXPECT_EQ(sum(model(x)).item<float>(), 1000);
}

TEST(nn, shapes_that_do_not_fit_are_refused_at_the_call) {
  nn::Linear layer(3, 2);
  layer.to(test_device());
  expect_error(kInvalid, "linear: input [4, 5] does not fit weight [2, 3]", [&] {
    layer(zeros({4, 5}, test_device()));
  });
  expect_error(kInvalid, "groups", [] { nn::Conv2d(3, 4, 3, {.groups = 2}); });
  expect_error(kInvalid, "at least 1", [] { nn::Linear(0, 2); });
}

}  // namespace
}  // namespace remora
