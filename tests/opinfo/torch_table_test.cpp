#include "tests/opinfo/torch_table.h"

#include <gtest/gtest.h>

#include "client/ops.h"
#include "dispatch/error.h"

namespace remora::opinfo {
namespace {

using bindings::Argument;

/// A call of `op` with the given JSON arguments; the key of a tensor is its only element.
std::variant<Argument, NotOffered> call(std::string_view table, const std::string& op,
                                        const std::string& args, const std::string& kwargs = "{}") {
  Case sample;
  sample.op = op;
  sample.args = Json::parse(args);
  sample.kwargs = Json::parse(kwargs);
  const Device device = Device::cpu();
  return value_or_throw(TorchTable::parse(table)).call(sample, device, [&](const std::string& key) {
    return from_data({std::stof(key)}, {1}, device);
  });
}

float number(const std::variant<Argument, NotOffered>& result) {
  return std::get<Argument>(result).get_if<Tensor>()->item<float>();
}

constexpr std::string_view kTable = R"({
  "rename": {"input": "x", "other": "y"},
  "functions": {
    "plain": "sub",
    "missing": "no_such_function",
    "reversed": {"takes": "x, y", "call": ["sub", "$y", "$x"]},
    "scaled": [{"takes": "x, y, alpha", "call": ["sub", "$x", ["mul", "$y", "$alpha"]]},
               {"takes": "x, y", "call": ["sub", "$x", "$y"]}],
    "chosen": {"takes": "x, mode='a'", "only": {"mode": ["a"]}, "call": ["neg", "$x"]},
    "made": {"takes": "n", "call": ["full", "$n", 2.5, {"device": "$device"}]},
    "nested_missing": {"takes": "x", "call": ["neg", ["no_such_function", "$x"]]}
  }})";

TEST(TorchTable, ANameAlonePassesArgumentsThroughRenamed) {
  EXPECT_EQ(number(call(kTable, "plain", R"([{"tensor": "5"}, {"tensor": "3"}])")), 2.0F);
  EXPECT_EQ(number(call(kTable, "plain", R"([{"tensor": "5"}])", R"({"other": {"tensor": "3"}})")),
            2.0F);
}

TEST(TorchTable, ACallExpressionReordersAndNests) {
  EXPECT_EQ(number(call(kTable, "reversed", R"([{"tensor": "5"}, {"tensor": "3"}])")), -2.0F);
  EXPECT_EQ(number(call(kTable, "scaled", R"([{"tensor": "5"}, {"tensor": "3"}])")), 2.0F);
  EXPECT_EQ(
      number(call(kTable, "scaled", R"([{"tensor": "5"}, {"tensor": "3"}])", R"({"alpha": 2})")),
      -1.0F);
}

TEST(TorchTable, DeviceArgumentsMeanTheDeviceUnderTest) {
  const auto result = call(kTable, "made", "[[1]]", R"({"device": "cpu", "requires_grad": false})");
  EXPECT_EQ(number(result), 2.5F);
}

TEST(TorchTable, WhatIsNotOfferedIsNotAnError) {
  const auto not_offered = [](const std::variant<Argument, NotOffered>& result) {
    return std::holds_alternative<NotOffered>(result);
  };
  EXPECT_TRUE(not_offered(call(kTable, "unknown", "[]")));
  EXPECT_TRUE(not_offered(call(kTable, "missing", "[]")));
  EXPECT_TRUE(not_offered(call(kTable, "nested_missing", R"([{"tensor": "5"}])")));
  EXPECT_TRUE(not_offered(call(kTable, "chosen", R"([{"tensor": "5"}, "b"])")));
  EXPECT_FALSE(not_offered(call(kTable, "chosen", R"([{"tensor": "5"}, "a"])")));
  EXPECT_TRUE(not_offered(call(kTable, "plain", R"([{"slice": [0, 1, null]}, {"tensor": "5"}])")));
}

TEST(TorchTable, ARefusedCallThrows) {
  EXPECT_THROW(call(kTable, "plain", R"([{"tensor": "5"}, "text"])"), Error);
}

TEST(TorchTable, BadRowsAreRefusedByName) {
  const auto refusal = [](const std::string& row) {
    const auto table =
        TorchTable::parse(R"({"rename": {}, "functions": {"bad_row": )" + row + "}}");
    return std::string(table.status().message());
  };
  for (const char* row : {
           "1",
           R"({"takes": "x"})",
           R"({"call": ["neg", "$x"]})",
           R"({"takes": "x", "call": ["neg", "$y"]})",
           R"({"takes": "x", "call": []})",
           R"({"takes": "x", "call": ["neg", {"x": "$x"}, 1]})",
           R"({"takes": "x", "call": ["neg", "$x"], "only": {"y": [1]}})",
           R"({"takes": "x", "call": ["neg", "$x"], "extra": 1})",
           R"({"takes": "x", "call": ["a",["a",["a",["a",["a",["a",["a",["a",["a",["a"]]]]]]]]]]})",
       }) {
    EXPECT_NE(refusal(row).find("bad_row"), std::string::npos) << row << " -> " << refusal(row);
  }
}

TEST(TorchTable, TheBuiltInTableIsWellFormed) {
  const auto table = TorchTable::built_in();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->has("cat"));
  EXPECT_TRUE(table->has("nn.functional.relu"));
}

}  // namespace
}  // namespace remora::opinfo
