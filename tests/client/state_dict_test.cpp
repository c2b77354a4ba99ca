// A module's state as named tensors, and back.
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

nn::Sequential two_layers() {
  return nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1));
}

TEST(tensor_map, keeps_the_order_and_refuses_a_second_tensor_of_a_name) {
  TensorMap map = {{"b", floats({1}, {1})}, {"a", floats({2}, {1})}};
  EXPECT_EQ(map.begin()->first, "b");
  EXPECT_EQ(map.at("a").item<float>(), 2);
  EXPECT_EQ(map.find("c"), nullptr);
  expect_error(kInvalid, "\"a\" already", [&] { map.add("a", floats({3}, {1})); });
  EXPECT_EQ(map.size(), 2U);
  expect_error(absl::StatusCode::kNotFound, "no tensor \"c\"", [&] { map.at("c"); });
}

TEST(state_dict, names_every_parameter_in_order_and_brings_its_values_back) {
  nn::Sequential model = two_layers();
  model.to(tracked_device());
  const TensorMap state = model.state_dict();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) {
    names.push_back(name);
    EXPECT_FALSE(tensor.requires_grad()) << name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));

  nn::Sequential other = two_layers();
  other.to(tracked_device());
  EXPECT_NE(other.state_dict().at("0.weight").to_vector<float>(),
            state.at("0.weight").to_vector<float>());
  const nn::StateDifference difference = other.load_state_dict(state);
  EXPECT_TRUE(difference.missing.empty() && difference.unexpected.empty());
  const Tensor x = floats({1, -2, 3, 4}, {2, 2});
  EXPECT_EQ(other(x).to_vector<float>(), model(x).to_vector<float>());
  EXPECT_TRUE(other.parameters()[0].tensor().is_leaf());
}

TEST(state_dict, running_statistics_are_part_of_it) {
  nn::Sequential model(nn::BatchNorm1d(2), nn::Linear(2, 1));
  model.to(tracked_device());
  model(floats({1, -2, 3, 4}, {2, 2}));
  const TensorMap state = model.state_dict();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) names.push_back(name + " " + tensor.spec().str());
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight f32[2]", "0.bias f32[2]", "0.running_mean f32[2]",
                                      "0.running_var f32[2]", "0.num_batches_tracked i64[]",
                                      "1.weight f32[1, 2]", "1.bias f32[1]"}));
  for (const bool drawn : {false, true}) {
    nn::Sequential other(nn::BatchNorm1d(2), nn::Linear(2, 1));
    if (drawn) other.to(tracked_device());
    other.load_state_dict(state);
    expect_floats(other.state_dict().at("0.running_mean"), {0.2F, 0.1F}, {2});
    EXPECT_EQ(other.state_dict().at("0.num_batches_tracked").item<int64_t>(), 1);
    EXPECT_FALSE(other.named_buffers()[0].parameter.tensor().requires_grad());
  }
}

TEST(state_dict, a_module_that_was_never_drawn_takes_the_tensors_where_they_are) {
  nn::Linear model(2, 1);
  model.load_state_dict({{"weight", from_data({3.0, 4.0}, {1, 2}, tracked_device())},
                         {"bias", from_data({5.0}, {1}, tracked_device())}});
  EXPECT_TRUE(model.parameters()[0].tensor().is_leaf());
  expect_floats(model(floats({1, 2}, {1, 2})), {16}, {1, 1});
}

TEST(state_dict, names_that_differ_are_listed_and_nothing_changes) {
  nn::Linear model(2, 1);
  model.to(test_device());
  const TensorMap before = model.state_dict();
  const TensorMap state = {{"weight", floats({3, 4}, {1, 2})}, {"wait", floats({1}, {1})}};
  expect_error(kInvalid, "missing from the state: bias; unexpected in the state: wait",
               [&] { model.load_state_dict(state); });
  EXPECT_EQ(model.state_dict().at("weight").to_vector<float>(),
            before.at("weight").to_vector<float>());
  const nn::StateDifference difference = model.load_state_dict(state, /*strict=*/false);
  EXPECT_EQ(difference.missing, (std::vector<std::string>{"bias"}));
  EXPECT_EQ(difference.unexpected, (std::vector<std::string>{"wait"}));
  expect_floats(model.state_dict().at("weight"), {3, 4}, {1, 2});
}

TEST(state_dict, another_shape_or_dtype_is_refused_even_if_not_strict) {
  for (const bool drawn : {false, true}) {
    nn::Linear model(2, 1);
    if (drawn) model.to(test_device());
    const TensorMap state = {{"weight", floats({3, 4, 5}, {1, 3})}, {"bias", integers({1}, {1})}};
    for (const bool strict : {false, true}) {
      expect_error(kInvalid,
                   "mismatched: weight is f32[1, 3] in the state and f32[1, 2] in the module, "
                   "bias is i64[1] in the state and f32[1] in the module",
                   [&] { model.load_state_dict(state, strict); });
    }
  }
}

TEST(state_dict, an_error_lists_a_bounded_number_of_names) {
  TensorMap state = nn::Linear(1, 1).state_dict();
  for (int i = 0; i < 100; ++i) state.add("x" + std::to_string(i), floats({1}, {1}));
  expect_error(kInvalid, "x19 and 80 more", [&] { nn::Linear(1, 1).load_state_dict(state); });
}

}  // namespace
}  // namespace remora
