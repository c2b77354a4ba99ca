// Losses as modules against PyTorch: values, and gradients by the first input.
#include <functional>
#include <map>

#include "tests/client/vectors.h"

namespace remora {
namespace {

using LossCall = std::function<Tensor(const Tensors&)>;

template <typename L>
LossCall of_two(L loss) {
  return [loss](const Tensors& x) { return loss(x[0], x[1]); };
}
template <typename L>
LossCall of_three(L loss) {
  return [loss](const Tensors& x) { return loss(x[0], x[1], x[2]); };
}

std::map<std::string, LossCall> make_losses() {
  const Tensor weight = floats({0.5F, 1.5F, 1.0F}, {3});
  std::map<std::string, LossCall> losses;
  losses["MSELoss"] = of_two(nn::MSELoss());
  losses["MSELoss sum"] = of_two(nn::MSELoss(Reduction::kSum));
  losses["L1Loss"] = of_two(nn::L1Loss());
  losses["SmoothL1Loss"] = of_two(nn::SmoothL1Loss(Reduction::kMean, 0.5));
  losses["HuberLoss"] = of_two(nn::HuberLoss(Reduction::kMean, 0.7));
  losses["CrossEntropyLoss"] = of_two(nn::CrossEntropyLoss());
  losses["CrossEntropyLoss weighted"] =
      of_two(nn::CrossEntropyLoss({.weight = weight, .ignore_index = 1, .label_smoothing = 0.1}));
  losses["NLLLoss"] = of_two(nn::NLLLoss({.weight = weight}));
  losses["BCELoss"] = of_two(nn::BCELoss());
  losses["BCEWithLogitsLoss"] = of_two(nn::BCEWithLogitsLoss({}, weight));
  losses["KLDivLoss"] = of_two(nn::KLDivLoss({.batch_mean = true}));
  losses["KLDivLoss log target"] =
      of_two(nn::KLDivLoss({.reduction = Reduction::kSum, .log_target = true}));
  losses["GaussianNLLLoss"] = of_three(nn::GaussianNLLLoss(true));
  losses["PoissonNLLLoss"] = of_two(nn::PoissonNLLLoss());
  losses["HingeEmbeddingLoss"] = of_two(nn::HingeEmbeddingLoss(0.8));
  losses["CosineEmbeddingLoss"] = of_three(nn::CosineEmbeddingLoss(0.1));
  losses["MarginRankingLoss"] = of_three(nn::MarginRankingLoss(0.2));
  losses["MultiMarginLoss"] = of_two(nn::MultiMarginLoss({.p = 2, .margin = 0.9}));
  losses["MultiLabelMarginLoss"] = of_two(nn::MultiLabelMarginLoss());
  losses["MultiLabelSoftMarginLoss"] = of_two(nn::MultiLabelSoftMarginLoss());
  losses["SoftMarginLoss"] = of_two(nn::SoftMarginLoss());
  losses["TripletMarginLoss"] = of_three(nn::TripletMarginLoss({.margin = 0.6, .swap = true}));
  losses["CTCLoss"] = [](const Tensors& x) {  // of logits: see generate.py
    return nn::CTCLoss()(log_softmax(x[0], 2), x[1], x[2], x[3]);
  };
  return losses;
}

TEST(loss_vectors, losses_are_those_of_pytorch) {
  const std::map<std::string, LossCall> losses = make_losses();
  size_t checked = 0;
  for (const Json& expected : read_vectors("losses.json")) {
    const std::string name = expected["loss"];
    SCOPED_TRACE(name);
    const auto found = losses.find(name);
    ASSERT_NE(found, losses.end());
    Tensors inputs;
    for (const Json& input : expected["inputs"]) inputs.push_back(tensor_of(input));
    inputs[0] = tensor_of(expected["inputs"][0], tracked_device()).require_grad();
    const Tensor value = found->second(inputs);
    expect_like(value, expected["value"]);
    value.backward();
    expect_like(*inputs[0].grad(), expected["gradient"]);
    ++checked;
  }
  EXPECT_EQ(checked, losses.size());
}

TEST(ctc_loss, a_label_without_a_path_is_infinite_or_left_out) {
  manual_seed(4);
  const Tensor x = log_softmax(normal({2, 2, 4}, tracked_device()), 2).detach().require_grad();
  const Tensor labels = integers({1, 1, 2, 3}, {2, 2});  // "1 1" needs a blank: three steps
  const Tensor lengths = integers({2, 2}, {2});
  const Tensor losses = ctc_loss(x, labels, lengths, lengths, {.reduction = Reduction::kNone});
  const std::vector<float> values = losses.to_vector<float>();
  EXPECT_TRUE(std::isinf(values[0]));
  EXPECT_NEAR(values[1], -(x.to_vector<float>()[4 + 2] + x.to_vector<float>()[12 + 3]), 1e-5);
  const Tensor kept =
      ctc_loss(x, labels, lengths, lengths, {.reduction = Reduction::kSum, .zero_infinity = true});
  EXPECT_NEAR(kept.item<float>(), values[1], 1e-5);
  kept.backward();
  for (const float gradient : x.grad()->to_vector<float>()) EXPECT_TRUE(std::isfinite(gradient));
}

TEST(ctc_loss, what_does_not_fit_is_refused_at_the_call) {
  const Tensor x = zeros({4, 2, 3}, test_device());
  const Tensor lengths = integers({4, 4}, {2});
  const Tensor labels = integers({1, 2, 1, 2}, {2, 2});
  const auto refused = [&](const std::string& part, const auto& call) {
    expect_error(absl::StatusCode::kInvalidArgument, part, call);
  };
  refused("[T, N, C]", [&] { ctc_loss(zeros({4, 3}, test_device()), labels, lengths, lengths); });
  refused("do not fit 2 examples", [&] { ctc_loss(x, labels, integers({4}, {1}), lengths); });
  refused("must be i64", [&] { ctc_loss(x, astype(labels, DType::kF32), lengths, lengths); });
  refused("the blank 3", [&] { ctc_loss(x, labels, lengths, lengths, {.blank = 3}); });
}

}  // namespace
}  // namespace remora
