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

TEST(optim, groups_have_options_of_their_own) {
  const nn::Parameter p = parameter({1});
  const nn::Parameter q = parameter({1});
  optim::SGD optimizer({p}, {.learning_rate = 0.5});
  optimizer.add_group({q}, {.learning_rate = 0.25, .weight_decay = 1.0});
  set_gradient(p, {1});
  set_gradient(q, {1});
  optimizer.step();
  expect_floats(p.tensor().inner(), {0.5}, {1});
  expect_floats(q.tensor().inner(), {0.5}, {1});
  EXPECT_EQ(optimizer.groups(), 2U);
  EXPECT_EQ(optimizer.option("weight_decay", 1), 1.0);
  optimizer.set_option("weight_decay", 0.0, 1);
  optimizer.set_learning_rate(1.0);
  EXPECT_EQ(optimizer.learning_rate(1), 1.0);
  expect_error(kInvalid, "no option 'beta'; there are lr, momentum",
               [&] { optimizer.option("beta"); });
  expect_error(kInvalid, "no group 2", [&] { optimizer.set_learning_rate(1.0, 2); });
  expect_error(kInvalid, "momentum is -1", [&] { optimizer.set_option("momentum", -1.0); });
  EXPECT_EQ(optimizer.option("momentum"), 0.0);
}

TEST(optim, a_parameter_given_twice_is_refused) {
  const nn::Parameter p = parameter({1});
  const nn::Parameter q = parameter({2});
  expect_error(kInvalid, "given twice: it is number 0 and number 2", [&] {
    optim::SGD({p, q, p});
  });
  optim::Adam optimizer({p});
  expect_error(kInvalid, "given twice", [&] { optimizer.add_group({q, p}, {}); });
  optimizer.add_group({q}, {});  // the refusal left nothing behind
  EXPECT_EQ(optimizer.groups(), 2U);
}

TEST(optim, a_state_that_does_not_fit_is_refused_and_changes_nothing) {
  const nn::Parameter p = parameter({1, 2});
  optim::Adam optimizer({p}, {.learning_rate = 0.5});
  set_gradient(p, {1, 1});
  optimizer.step();
  const optim::OptimizerState saved = optimizer.state_dict();
  const auto refused = [&](const std::string& part, const auto& spoil) {
    optim::OptimizerState state = saved;
    spoil(state);
    expect_error(kInvalid, part, [&] { optimizer.load_state_dict(state); });
  };
  refused("no 'state.0.step'", [](auto& state) { state.numbers.erase(state.numbers.begin()); });
  refused("counts updates", [](auto& state) { state.numbers[0].second = -3; });
  refused("counts updates", [](auto& state) { state.numbers[0].second = std::nan(""); });
  refused("f32[1]; for its parameter f32[2] it must be f32[2]", [](auto& state) {
    state.tensors = TensorMap{{"state.0.exp_avg", floats({1}, {1})}};
  });
  refused("'state.0.step' twice", [](auto& state) { state.numbers.push_back(state.numbers[0]); });
  refused("'state.1.exp_avg' is unknown",
          [](auto& state) { state.tensors.add("state.1.exp_avg", floats({1}, {1})); });
  refused("beta1 is 2", [](auto& state) {
    for (auto& [name, value] : state.numbers) {
      if (name == "param_groups.0.betas.0") value = 2;
    }
  });
  refused("group 0 has 1 parameters, that of the state 3", [](auto& state) {
    for (auto& [name, value] : state.numbers) {
      if (name == "param_groups.0.params") value = 3;
    }
  });
  const optim::OptimizerState now = optimizer.state_dict();
  EXPECT_EQ(now.numbers, saved.numbers);
  ASSERT_EQ(now.tensors.size(), saved.tensors.size());
  EXPECT_EQ(now.tensors.at("state.0.exp_avg").to_vector<float>(),
            saved.tensors.at("state.0.exp_avg").to_vector<float>());
}

TEST(clip_grad_norm, scales_all_gradients_by_one_factor_and_returns_the_norm) {
  const nn::Parameter p = parameter({0, 0});
  const nn::Parameter q = parameter({0});
  const nn::Parameter without = parameter({5});
  set_gradient(p, {2, -1});
  set_gradient(q, {2});
  const Tensor held = *p.tensor().grad();
  expect_near(nn::clip_grad_norm({p, without, q}, 1.5), {3}, 1e-6F);
  expect_near(*p.tensor().grad(), {1, -0.5}, 1e-5F);
  expect_near(*q.tensor().grad(), {1}, 1e-5F);
  expect_floats(held, {2, -1}, {2});  // no tensor changes
  EXPECT_FALSE(without.tensor().grad().has_value());
  expect_near(nn::clip_grad_norm({p, q}, 10), {1.5}, 1e-5F);
  expect_near(*q.tensor().grad(), {1}, 1e-5F);  // within the bound
  const double infinite = std::numeric_limits<double>::infinity();
  expect_near(nn::clip_grad_norm({p, q}, 0.25, infinite), {1}, 1e-5F);
  expect_near(*p.tensor().grad(), {0.25, -0.125}, 1e-5F);
  expect_floats(nn::clip_grad_norm({without}, 1), {0}, {});
  expect_error(kInvalid, "max_norm is -1", [&] { nn::clip_grad_norm({p}, -1); });
}

TEST(clip_grad_value, clips_each_element) {
  const nn::Parameter p = parameter({0, 0, 0});
  set_gradient(p, {2, -3, 0.5});
  nn::clip_grad_value({p}, 1);
  expect_floats(*p.tensor().grad(), {1, -1, 0.5}, {3});
  expect_error(kInvalid, "the limit is nan", [&] { nn::clip_grad_value({p}, std::nan("")); });
}

TEST(clip_grad_norm, reads_nothing) {
  const nn::Parameter p = parameter({0, 0});
  set_gradient(p, {3, 4});
  p.tensor().grad()->to_vector<float>();
  const uint64_t before = test_device().state().stats().windows;
  nn::clip_grad_norm({p}, 1);
  EXPECT_EQ(test_device().state().stats().windows, before);  // a read would have ended the window
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

TEST(nn, running_statistics_are_buffers_that_move_and_no_optimizer_sees) {
  nn::Sequential model(nn::Conv2d(1, 2, 3), nn::BatchNorm2d(2));
  std::vector<std::string> names;
  for (const nn::NamedParameter& named : model.named_state()) names.push_back(named.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                      "1.running_var", "1.num_batches_tracked"}));
  EXPECT_EQ(model.parameters().size(), 4U);
  model.to(tracked_device());
  EXPECT_FALSE(model.named_buffers()[0].parameter.tensor().requires_grad());
  model(normal({2, 1, 5, 5}, test_device()));
  EXPECT_EQ(model.named_buffers()[2].parameter.tensor().item<int64_t>(), 1);
  model.eval();
  model(normal({2, 1, 5, 5}, test_device()));
  EXPECT_EQ(model.named_buffers()[2].parameter.tensor().item<int64_t>(), 1);
}

TEST(nn, a_list_names_its_modules_and_a_module_of_several_inputs_says_so) {
  nn::ModuleList list(nn::Linear(2, 3), nn::Linear(3, 1, false));
  list.append(nn::LayerNorm({1}));
  std::vector<std::string> names;
  for (const nn::NamedParameter& named : list.named_parameters()) names.push_back(named.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "2.weight", "2.bias"}));
  list.to(test_device());
  Tensor x = ones({4, 2}, test_device());
  for (const auto& module : list) x = (*module)(x);
  EXPECT_EQ(x.shape(), (Shape{4, 1}));
  const nn::Sequential wrong(nn::Bilinear(2, 2, 2));
  expect_error(kInvalid, "does not map one tensor to one", [&] { wrong(x); });
}

TEST(nn, dropout_between_recurrent_layers_heeds_the_mode) {
  manual_seed(2);
  nn::LSTM layer(2, 8, {.layers = 2, .dropout = 0.5});
  layer.to(test_device());
  const Tensor x = normal({3, 2, 2}, test_device());
  EXPECT_NE(layer(x).output.to_vector<float>(), layer(x).output.to_vector<float>());
  layer.eval();
  EXPECT_EQ(layer(x).output.to_vector<float>(), layer(x).output.to_vector<float>());
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
  expect_error(kInvalid, "3 heads do not divide", [] { nn::MultiheadAttention(8, 3); });
  expect_error(kInvalid, "BatchNorm2d: takes [N, 3, ...], not [2, 4, 5, 5]", [] {
    nn::BatchNorm2d(3)(zeros({2, 4, 5, 5}, test_device()));
  });
  expect_error(kInvalid, "one value per channel", [] {
    nn::BatchNorm1d(3)(zeros({1, 3}, test_device()));
  });
  expect_error(kInvalid, "GRU: takes three axes, the last of size 3", [] {
    nn::GRU(3, 4)(zeros({5, 2, 4}, test_device()));
  });
  expect_error(kInvalid, "an initial state is [1, 3, 4]; it must be [1, 2, 4]", [] {
    nn::GRU(3, 4)(zeros({5, 2, 3}, test_device()), zeros({1, 3, 4}, test_device()));
  });
  expect_error(kInvalid, "LSTM: a projection of 4 elements; it must be less than 4",
               [] { nn::LSTM(3, 4, {.projection = 4}); });
  expect_error(kInvalid, "GRU: only an LSTM has a projection",
               [] { nn::GRU(3, 4, {.projection = 2}); });
  nn::LSTM narrow_state(3, 4, {.projection = 2});
  narrow_state.to(test_device());
  expect_error(kInvalid, "LSTM: an initial state is [1, 2, 4]; it must be [1, 2, 2]", [&] {
    narrow_state(zeros({5, 2, 3}, test_device()), zeros({1, 2, 4}, test_device()));
  });
  expect_error(kInvalid, "p is 1.5", [] { nn::Dropout(1.5); });
  expect_error(kInvalid, "the weight has shape [2, 2]; it needs five axes", [] {
    conv3d(zeros({1, 2, 3, 3, 3}, test_device()), zeros({2, 2}, test_device()));
  });
}

}  // namespace
}  // namespace remora
