// Optimizers against 20 steps of PyTorch's, and their state by PyTorch's names.
#include <memory>

#include "tests/client/vectors.h"

namespace remora {
namespace {

using optim::Optimizer;

double number(const Json& options, const char* name, double otherwise) {
  return options.value(name, otherwise);
}

template <typename Options>
Options adam_options(const Json& options) {
  Options made;
  made.learning_rate = number(options, "lr", made.learning_rate);
  if (options.contains("betas")) {
    made.beta1 = options["betas"][0];
    made.beta2 = options["betas"][1];
  }
  made.eps = number(options, "eps", made.eps);
  made.weight_decay = number(options, "weight_decay", made.weight_decay);
  made.amsgrad = options.value("amsgrad", false);
  return made;
}

/// The optimizer of a case with its options; everything else is the default.
std::unique_ptr<Optimizer> make_optimizer(const Json& expected,
                                          const std::vector<nn::Parameter>& parameters) {
  const std::string name = expected["optimizer"];
  const Json& given = expected["options"];
  if (name == "SGD") {
    optim::SgdOptions options;
    options.learning_rate = number(given, "lr", options.learning_rate);
    options.momentum = number(given, "momentum", options.momentum);
    options.dampening = number(given, "dampening", options.dampening);
    options.weight_decay = number(given, "weight_decay", options.weight_decay);
    options.nesterov = given.value("nesterov", false);
    return std::make_unique<optim::SGD>(parameters, options);
  }
  if (name == "Adam") {
    return std::make_unique<optim::Adam>(parameters, adam_options<optim::AdamOptions>(given));
  }
  if (name == "AdamW") {
    return std::make_unique<optim::AdamW>(parameters, adam_options<optim::AdamWOptions>(given));
  }
  if (name == "RMSprop") {
    optim::RmspropOptions options;
    options.learning_rate = number(given, "lr", options.learning_rate);
    options.alpha = number(given, "alpha", options.alpha);
    options.eps = number(given, "eps", options.eps);
    options.weight_decay = number(given, "weight_decay", options.weight_decay);
    options.momentum = number(given, "momentum", options.momentum);
    options.centered = given.value("centered", false);
    return std::make_unique<optim::RMSprop>(parameters, options);
  }
  optim::AdagradOptions options;
  options.learning_rate = number(given, "lr", options.learning_rate);
  options.lr_decay = number(given, "lr_decay", options.lr_decay);
  options.weight_decay = number(given, "weight_decay", options.weight_decay);
  options.initial_accumulator =
      number(given, "initial_accumulator_value", options.initial_accumulator);
  return std::make_unique<optim::Adagrad>(parameters, options);
}

std::vector<nn::Parameter> parameters_of(const Json& start) {
  std::vector<nn::Parameter> parameters;
  for (const Json& tensor : start) {
    nn::Parameter parameter(shape_of(tensor),
                            [tensor](const Device& device) { return tensor_of(tensor, device); });
    parameter.to(tracked_device());
    parameters.push_back(parameter);
  }
  return parameters;
}

void set_gradients(const std::vector<nn::Parameter>& parameters, const Json& gradients) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].tensor().set_grad(tensor_of(gradients[i]).astype(DType::kF32));
  }
}

void expect_values(const std::vector<nn::Parameter>& parameters, const Json& values) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    expect_like(parameters[i].tensor(),
                {{"shape", parameters[i].shape().sizes()}, {"data", values[i]}}, 2e-6F);
  }
}

class OptimizerVectors : public testing::TestWithParam<size_t> {
 protected:
  static const Json& cases() {
    static const Json cases = read_vectors("optimizers.json");
    return cases;
  }
  const Json& expected() const { return cases()[GetParam() + 1]; }
  const Json& gradients() const { return cases()[0]["gradients"]; }
  const Json& start() const { return cases()[0]["start"]; }
};

TEST_P(OptimizerVectors, twenty_steps_follow_pytorch_and_so_does_the_state) {
  SCOPED_TRACE(expected()["optimizer"].get<std::string>() + expected()["options"].dump());
  const std::vector<nn::Parameter> parameters = parameters_of(start());
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(expected(), parameters);
  for (size_t step = 0; step < gradients().size(); ++step) {
    set_gradients(parameters, gradients()[step]);
    optimizer->step();
    ASSERT_NO_FATAL_FAILURE(expect_values(parameters, expected()["values"][step])) << step;
  }
  const optim::OptimizerState state = optimizer->state_dict();
  size_t tensors = 0;
  for (const auto& [name, value] : expected()["state"].items()) {
    if (name == "step") continue;
    const std::string key = "state.1." + name;
    const Tensor* found = state.tensors.find(key);
    ASSERT_NE(found, nullptr) << key;
    expect_like(*found, value);
    ++tensors;
  }
  EXPECT_EQ(state.tensors.size(), tensors * parameters.size());
}

TEST_P(OptimizerVectors, a_run_taken_up_from_a_saved_state_goes_on_bit_for_bit) {
  const std::vector<nn::Parameter> through = parameters_of(start());
  const std::unique_ptr<Optimizer> whole = make_optimizer(expected(), through);
  const std::vector<nn::Parameter> halves = parameters_of(start());
  std::unique_ptr<Optimizer> part = make_optimizer(expected(), halves);
  for (size_t step = 0; step < gradients().size(); ++step) {
    if (step == 9) {
      const optim::OptimizerState saved = part->state_dict();
      part = make_optimizer(expected(), halves);
      part->set_learning_rate(123.0);  // the state has the right one
      part->load_state_dict(saved);
    }
    for (const auto& [optimizer, parameters] :
         {std::pair(whole.get(), &through), std::pair(part.get(), &halves)}) {
      set_gradients(*parameters, gradients()[step]);
      optimizer->step();
    }
  }
  for (size_t i = 0; i < through.size(); ++i) {
    EXPECT_EQ(through[i].tensor().to_vector<float>(), halves[i].tensor().to_vector<float>());
  }
}

INSTANTIATE_TEST_SUITE_P(pytorch, OptimizerVectors, testing::Range(size_t{0}, size_t{16}));

TEST(optimizer_vectors, every_case_of_the_file_is_run) {
  EXPECT_EQ(read_vectors("optimizers.json").size(), 17U);
}

}  // namespace
}  // namespace remora
