// Modules against PyTorch: names and shapes of parameters and buffers, outputs, gradients of every
// parameter and input, and buffers afterwards.
#include <functional>
#include <map>

#include "tests/client/vectors.h"

namespace remora {
namespace {

/// A module that maps tensors to tensors, whatever its signature.
struct Case {
  std::shared_ptr<nn::Module> module;
  std::function<Tensors(const Tensors& inputs, const Json& masks)> call;
};

template <typename M>
Case layer(M module) {
  auto made = std::make_shared<M>(std::move(module));
  return {made, [made](const Tensors& x, const Json&) { return Tensors{(*made)(x[0])}; }};
}

template <typename M>
Case in_eval_mode(M module) {
  module.eval();
  return layer(std::move(module));
}

Case bilinear_case() {
  auto made = std::make_shared<nn::Bilinear>(3, 4, 2);
  return {made, [made](const Tensors& x, const Json&) { return Tensors{(*made)(x[0], x[1])}; }};
}

Case attention(int64_t width, int64_t heads, const nn::MultiheadAttentionOptions& options) {
  auto made = std::make_shared<nn::MultiheadAttention>(width, heads, options);
  return {made, [made](const Tensors& x, const Json& given) {
            nn::AttentionMasks masks;
            if (given.contains("attn_mask")) masks.attention = tensor_of(given["attn_mask"]) > 0.5;
            if (given.contains("key_padding_mask")) {
              masks.key_padding = tensor_of(given["key_padding_mask"]) > 0.5;
            }
            const nn::AttentionResult result = (*made)(x[0], x[1], x[2], masks);
            return Tensors{result.output, result.weights};
          }};
}

template <typename M>
Case recurrent(M module) {
  auto made = std::make_shared<M>(std::move(module));
  return {made, [made](const Tensors& x, const Json&) {
            const auto result = (*made)(x[0]);
            return Tensors{result.output, result.hidden};
          }};
}

Case lstm(nn::LSTM module) {
  auto made = std::make_shared<nn::LSTM>(std::move(module));
  return {made, [made](const Tensors& x, const Json&) {
            const nn::LstmResult result = (*made)(x[0]);
            return Tensors{result.output, result.hidden, result.cell};
          }};
}

template <typename M>
Case unpooling(M module, const std::optional<Dims>& size = std::nullopt) {
  auto made = std::make_shared<M>(std::move(module));
  return {made, [made, size](const Tensors& x, const Json&) {
            return Tensors{(*made)(x[0], x[1], size)};
          }};
}

using Cases = std::map<std::string, Case>;

void add_products(Cases& cases) {
  cases["Linear"] = layer(nn::Linear(4, 3));
  cases["Linear without bias"] = layer(nn::Linear(4, 3, false));
  cases["Bilinear"] = bilinear_case();
  cases["Conv1d"] = layer(nn::Conv1d(4, 6, 3, {.stride = 2, .padding = 1, .groups = 2}));
  cases["Conv2d"] =
      layer(nn::Conv2d(2, 3, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}));
  cases["Conv3d"] =
      layer(nn::Conv3d(2, 4, {2, 3, 3}, {.stride = {1, 2, 1}, .padding = {1}, .groups = 2}));
  cases["ConvTranspose1d"] = layer(
      nn::ConvTranspose1d(4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}));
  cases["ConvTranspose2d"] =
      layer(nn::ConvTranspose2d(2, 3, 3, {.stride = 2, .padding = 1, .output_padding = 1}));
  cases["ConvTranspose3d"] =
      layer(nn::ConvTranspose3d(2, 3, {2, 3, 3}, {.stride = {2, 2, 1}, .padding = {0, 1, 1}}));
  cases["Embedding"] = layer(nn::Embedding(7, 3, 2));
  cases["Flatten"] = layer(nn::Flatten());
  cases["Unflatten"] = layer(nn::Unflatten(1, {2, 3}));
  cases["PixelShuffle"] = layer(nn::PixelShuffle(2));
  cases["Sequential"] = layer(nn::Sequential(nn::Linear(4, 5), nn::Tanh(), nn::Linear(5, 2)));
}

void add_pooling(Cases& cases) {
  cases["MaxPool1d"] = layer(nn::MaxPool1d(3, {.stride = 2, .padding = 1}));
  cases["MaxPool2d"] = layer(nn::MaxPool2d(2));
  cases["MaxPool3d"] = layer(nn::MaxPool3d({2}, {.stride = Dims{1}}));
  cases["MaxUnpool1d"] = unpooling(nn::MaxUnpool1d({2}));
  cases["MaxUnpool2d"] = unpooling(nn::MaxUnpool2d({3, 2}, Dims{2}, {1, 0}), Dims{8, 9});
  cases["MaxUnpool3d"] = unpooling(nn::MaxUnpool3d({2}));
  cases["AvgPool1d"] = layer(nn::AvgPool1d(3, {.stride = 2, .padding = 1}));
  cases["AvgPool2d"] =
      layer(nn::AvgPool2d(3, {.stride = 2, .padding = 1, .count_include_pad = false}));
  cases["AvgPool3d"] = layer(nn::AvgPool3d({2}));
  cases["AdaptiveAvgPool1d"] = layer(nn::AdaptiveAvgPool1d(4));
  cases["AdaptiveAvgPool2d"] = layer(nn::AdaptiveAvgPool2d({2, 3}));
  cases["AdaptiveAvgPool3d"] = layer(nn::AdaptiveAvgPool3d({2}));
  cases["AdaptiveMaxPool1d"] = layer(nn::AdaptiveMaxPool1d(4));
  cases["AdaptiveMaxPool2d"] = layer(nn::AdaptiveMaxPool2d({2, 3}));
  cases["AdaptiveMaxPool3d"] = layer(nn::AdaptiveMaxPool3d({2}));
}

void add_normalizations(Cases& cases) {
  cases["BatchNorm1d"] = layer(nn::BatchNorm1d(3));
  cases["BatchNorm1d over lengths"] = layer(nn::BatchNorm1d(3, {.eps = 1e-3, .momentum = 0.3}));
  cases["BatchNorm2d"] = layer(nn::BatchNorm2d(3));
  cases["BatchNorm2d cumulative"] =
      layer(nn::BatchNorm2d(3, {.momentum = std::nullopt, .affine = false}));
  cases["BatchNorm3d"] = layer(nn::BatchNorm3d(2));
  cases["BatchNorm2d eval"] = in_eval_mode(nn::BatchNorm2d(3));
  cases["BatchNorm2d without statistics"] =
      in_eval_mode(nn::BatchNorm2d(3, {.track_running_stats = false}));
  cases["LayerNorm"] = layer(nn::LayerNorm({3, 4}));
  cases["GroupNorm"] = layer(nn::GroupNorm(2, 4));
  cases["InstanceNorm1d"] = layer(nn::InstanceNorm1d(3));
  cases["InstanceNorm2d"] = layer(nn::InstanceNorm2d(3, {.affine = true}));
  cases["InstanceNorm2d with statistics"] =
      layer(nn::InstanceNorm2d(3, {.affine = true, .track_running_stats = true}));
  cases["InstanceNorm2d with statistics eval"] =
      in_eval_mode(nn::InstanceNorm2d(3, {.track_running_stats = true}));
  cases["InstanceNorm3d"] = layer(nn::InstanceNorm3d(2));
  cases["RMSNorm"] = layer(nn::RMSNorm({4}, 1e-5));
  cases["LocalResponseNorm"] = layer(nn::LocalResponseNorm(3));
}

void add_activations(Cases& cases) {
  cases["ReLU"] = layer(nn::ReLU());
  cases["ReLU6"] = layer(nn::ReLU6());
  cases["LeakyReLU"] = layer(nn::LeakyReLU(0.2));
  cases["PReLU"] = layer(nn::PReLU(3));
  cases["ELU"] = layer(nn::ELU(0.7));
  cases["CELU"] = layer(nn::CELU(1.3));
  cases["SELU"] = layer(nn::SELU());
  cases["GELU"] = layer(nn::GELU());
  cases["GELU tanh"] = layer(nn::GELU(GeluForm::kTanh));
  cases["SiLU"] = layer(nn::SiLU());
  cases["Mish"] = layer(nn::Mish());
  cases["Softplus"] = layer(nn::Softplus(2.0, 3.0));
  cases["Softsign"] = layer(nn::Softsign());
  cases["Softshrink"] = layer(nn::Softshrink(0.4));
  cases["Hardshrink"] = layer(nn::Hardshrink(0.4));
  cases["Tanhshrink"] = layer(nn::Tanhshrink());
  cases["Hardsigmoid"] = layer(nn::Hardsigmoid());
  cases["Hardswish"] = layer(nn::Hardswish());
  cases["Hardtanh"] = layer(nn::Hardtanh(-0.5, 0.8));
  cases["LogSigmoid"] = layer(nn::LogSigmoid());
  cases["Threshold"] = layer(nn::Threshold(0.1, -2.0));
  cases["GLU"] = layer(nn::GLU());
  cases["Sigmoid"] = layer(nn::Sigmoid());
  cases["Tanh"] = layer(nn::Tanh());
  cases["Softmax"] = layer(nn::Softmax(1));
  cases["Softmin"] = layer(nn::Softmin(1));
  cases["LogSoftmax"] = layer(nn::LogSoftmax(-1));
}

void add_sequences(Cases& cases) {
  cases["MultiheadAttention"] = attention(8, 2, {});
  cases["MultiheadAttention batch first"] = attention(8, 4, {.bias = false, .batch_first = true});
  cases["MultiheadAttention of other widths"] = attention(6, 2, {.key_width = 5, .value_width = 4});
  cases["MultiheadAttention of appended keys"] =
      attention(8, 2, {.add_bias_kv = true, .add_zero_attn = true});
  cases["TransformerEncoderLayer"] =
      layer(nn::TransformerEncoderLayer(8, 2, {.feedforward = 12, .dropout = 0.0}));
  cases["TransformerEncoderLayer norm first"] = layer(nn::TransformerEncoderLayer(
      8, 2,
      {.feedforward = 12,
       .dropout = 0.0,
       .activation = nn::TransformerEncoderLayerOptions::Activation::kGelu,
       .batch_first = true,
       .norm_first = true}));
  cases["RNN"] = recurrent(nn::RNN(3, 4));
  cases["RNN relu"] = recurrent(nn::RNN(3, 4, {.layers = 2, .bias = false, .batch_first = true},
                                        nn::RNN::Nonlinearity::kRelu));
  cases["LSTM"] = lstm(nn::LSTM(3, 4));
  cases["LSTM of two layers both ways"] =
      lstm(nn::LSTM(3, 4, {.layers = 2, .batch_first = true, .bidirectional = true}));
  cases["LSTM of a projection"] =
      lstm(nn::LSTM(3, 5, {.layers = 2, .bidirectional = true, .projection = 2}));
  cases["GRU"] = recurrent(nn::GRU(3, 4));
  cases["GRU both ways"] = recurrent(nn::GRU(3, 4, {.bidirectional = true}));
}

Cases make_cases() {
  Cases cases;
  add_products(cases);
  add_pooling(cases);
  add_normalizations(cases);
  add_activations(cases);
  add_sequences(cases);
  return cases;
}

/// Gives every parameter and buffer PyTorch's values; both must have the same names in one order.
void load_state(const nn::Module& module, const Json& state) {
  std::vector<std::string> names;
  for (nn::NamedParameter& named : module.named_state()) {
    names.push_back(named.name);
    ASSERT_TRUE(state.contains(named.name)) << named.name << " is not in PyTorch's module";
    const Json& values = state[named.name];
    ASSERT_EQ(named.parameter.shape(), shape_of(values)) << named.name;
    named.parameter.set(tensor_of(values).astype(named.parameter.dtype()));
  }
  EXPECT_EQ(names.size(), state.size()) << state.dump();
}

Tensors inputs_of(const Json& inputs) {
  Tensors made;
  for (const Json& input : inputs) {
    const Tensor tensor = tensor_of(input, tracked_device());
    made.push_back(is_float(tensor.dtype()) ? tensor.require_grad() : tensor);
  }
  return made;
}

void check_case(const Case& tested, const Json& expected) {
  tested.module->to(tracked_device());
  ASSERT_NO_FATAL_FAILURE(load_state(*tested.module, expected["state"]));
  const Tensors inputs = inputs_of(expected["inputs"]);
  const Tensors outputs = tested.call(inputs, expected["masks"]);
  ASSERT_EQ(outputs.size(), expected["outputs"].size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_like(outputs[i], expected["outputs"][i]);
  }
  sum(outputs[0] * tensor_of(expected["cotangent"])).backward();
  for (const nn::NamedParameter& named : tested.module->named_parameters()) {
    SCOPED_TRACE("gradient of " + named.name);
    ASSERT_TRUE(named.parameter.tensor().grad().has_value());
    expect_like(*named.parameter.tensor().grad(), expected["gradients"][named.name]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    if (expected["input_gradients"][i].is_null()) continue;
    ASSERT_TRUE(inputs[i].grad().has_value());
    expect_like(*inputs[i].grad(), expected["input_gradients"][i]);
  }
  for (const nn::NamedParameter& named : tested.module->named_buffers()) {
    SCOPED_TRACE("buffer " + named.name);
    expect_like(named.parameter.tensor(), expected["buffers_after"][named.name]);
    EXPECT_FALSE(named.parameter.tensor().requires_grad());
  }
}

TEST(module_vectors, modules_are_those_of_pytorch) {
  const Cases cases = make_cases();
  size_t checked = 0;
  for (const Json& expected : read_vectors("modules.json")) {
    const std::string name = expected["module"];
    SCOPED_TRACE(name);
    const auto found = cases.find(name);
    ASSERT_NE(found, cases.end());
    check_case(found->second, expected);
    ++checked;
  }
  EXPECT_EQ(checked, cases.size());
}

}  // namespace
}  // namespace remora
