#include "client/bindings/function.h"

#include <gtest/gtest.h>

#include "client/ops.h"
#include "dispatch/error.h"

namespace remora::bindings {
namespace {

Tensor vector_of(std::initializer_list<float> values) {
  return from_data(values, {static_cast<int64_t>(values.size())}, Device::cpu());
}

Tensor tensor_of(const Argument& result) { return *result.get_if<Tensor>(); }

std::string refusal(std::string_view name, std::vector<Argument> positional,
                    std::vector<NamedArgument> keywords = {}) {
  try {
    call_function(name, positional, keywords);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CallFunction, ConvertsPositionalAndKeywordArguments) {
  const Tensor x = from_data({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}, Device::cpu());
  const Argument result =
      call_function("sum", std::vector<Argument>{x},
                    std::vector<NamedArgument>{{"axis", int64_t{1}}, {"keepdims", true}});
  EXPECT_EQ(tensor_of(result).shape(), Shape({2, 1}));
  EXPECT_EQ(tensor_of(result).to_vector<float>(), (std::vector<float>{3, 7}));
}

TEST(CallFunction, NumbersAreOperands) {
  const std::vector<Argument> arguments{vector_of({1, 2}), 0.5};
  EXPECT_EQ(tensor_of(call_function("add", arguments)).to_vector<float>(),
            (std::vector<float>{1.5, 2.5}));
}

TEST(CallFunction, TheOverloadWhoseParametersFitIsCalled) {
  const Tensor x = vector_of({1, 3, 2});
  EXPECT_EQ(tensor_of(call_function("max", std::vector<Argument>{x})).item<float>(), 3.0F);
  const Argument pair = call_function("max", std::vector<Argument>{x, int64_t{0}});
  const auto* list = pair.get_if<Argument::List>();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(tensor_of(list->at(1)).item<int64_t>(), 1);
  EXPECT_EQ(
      call_function("split", std::vector<Argument>{x, int64_t{2}}).get_if<Argument::List>()->size(),
      2U);
  const Argument::List sizes{int64_t{1}, int64_t{1}, int64_t{1}};
  EXPECT_EQ(
      call_function("split", std::vector<Argument>{x, sizes}).get_if<Argument::List>()->size(), 3U);
}

TEST(CallFunction, OptionStructsAreFlatParameters) {
  const Tensor image = ones({1, 1, 4, 4}, Device::cpu());
  const Argument::List kernel{int64_t{2}, int64_t{1}};
  const Argument result = call_function("max_pool2d", std::vector<Argument>{image, kernel},
                                        std::vector<NamedArgument>{{"stride", int64_t{2}}});
  EXPECT_EQ(tensor_of(result).shape(), Shape({1, 1, 2, 2}));
}

TEST(CallFunction, EnumsAreText) {
  const std::vector<Argument> arguments{vector_of({1, 2}), vector_of({0, 0}), std::string("sum")};
  EXPECT_EQ(tensor_of(call_function("l1_loss", arguments)).item<float>(), 3.0F);
  EXPECT_NE(refusal("l1_loss", {vector_of({1}), vector_of({1}), std::string("all")}).find("'mean'"),
            std::string::npos);
}

TEST(CallFunction, MistakesNameFunctionArgumentAndWhatIsRight) {
  EXPECT_NE(refusal("no_such", {}).find("no_such"), std::string::npos);
  const std::string wrong = refusal("softmax", {vector_of({1}), std::string("a")});
  EXPECT_NE(wrong.find("softmax: argument \"axis\" must be an integer, not 'a'"), std::string::npos)
      << wrong;
  EXPECT_NE(refusal("softmax", {}).find("\"x\" is missing"), std::string::npos);
  EXPECT_NE(refusal("relu", {Argument()}).find("must be a tensor, not none"), std::string::npos);
  EXPECT_NE(refusal("split", {vector_of({1}), std::string("a")}).find("; or "), std::string::npos);
}

TEST(CallFunction, WhatTheFunctionThrowsPassesThrough) {
  const std::string message = refusal("matmul", {vector_of({1, 2}), vector_of({1, 2, 3})});
  EXPECT_NE(message.find("matmul"), std::string::npos);
}

TEST(Functions, EveryRowHasItsFunctionsParameters) {
  EXPECT_GT(functions().size(), 200U);
  for (const Function& row : functions()) {
    EXPECT_TRUE(has_function(row.name));
    EXPECT_FALSE(row.name.empty());
  }
}

}  // namespace
}  // namespace remora::bindings
