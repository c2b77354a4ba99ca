// Whatever a function is made of, its errors begin with the name that the program called.
#include <gtest/gtest.h>

#include <random>

#include "client/bindings/function.h"
#include "client/ops.h"
#include "dispatch/error.h"

namespace remora::bindings {
namespace {

/// Arguments of every kind, most of them wrong for most functions.
std::vector<Argument> candidates() {
  const Device device = Device::cpu();
  const auto tensor = [&](const Shape& shape, DType dtype) { return zeros(shape, device, dtype); };
  std::vector<Argument> result = {
      tensor({}, DType::kF32),           tensor({3}, DType::kF32),
      tensor({2, 3}, DType::kF32),       tensor({3, 3}, DType::kF32),
      tensor({2, 3, 4}, DType::kF32),    tensor({1, 2, 4, 4}, DType::kF32),
      tensor({2, 2, 2, 2}, DType::kF32), tensor({1, 1, 2, 3, 2}, DType::kF32),
      tensor({0, 3}, DType::kF32),       tensor({3}, DType::kI64),
      tensor({2, 3}, DType::kI64),       tensor({2, 3}, DType::kBool),
      tensor({3}, DType::kU64),          tensor({2, 3}, DType::kF16),
  };
  for (const int64_t number : {-7, -1, 0, 1, 2, 5}) result.emplace_back(number);
  for (const double number : {-0.5, 0.0, 2.0}) result.emplace_back(number);
  const auto list = [](std::initializer_list<int64_t> numbers) {
    Argument::List values;
    for (const int64_t number : numbers) values.emplace_back(number);
    return values;
  };
  for (const Argument::List& values :
       {list({}), list({-1}), list({0, 1}), list({2, 3}), list({1, 2, 3}), list({9, 9, 9, 9, 9}),
        list({int64_t{1} << 40, int64_t{1} << 40})}) {
    result.emplace_back(values);
  }
  result.emplace_back(Argument::List{result[1], result[2]});
  result.emplace_back(Argument::List{result[2], result[4]});
  result.emplace_back(true);
  result.emplace_back(DType::kBool);
  result.emplace_back(DType::kI64);
  return result;
}

class ErrorName : public testing::Test {
 protected:
  /// What the function throws, or nothing.
  static std::string refusal(const Function& function, const std::vector<Argument>& arguments) {
    try {
      const absl::StatusOr<Argument> result = function.call(function, arguments);
      return result.ok() ? "" : std::string(result.status().message());
    } catch (const Error& error) {
      return error.what();
    }
  }
};

TEST_F(ErrorName, IsThatOfTheFunctionThatWasCalled) {
  const std::vector<Argument> any = candidates();
  std::mt19937 random(7);
  int refused = 0;
  for (const Function& function : functions()) {
    std::string wrong;
    for (int attempt = 0; attempt < 400 && wrong.empty(); ++attempt) {
      std::vector<Argument> arguments;
      std::string text;
      for (const Parameter& parameter : function.signature.parameters()) {
        const bool keep = parameter.default_value && random() % 4 != 0;
        arguments.push_back(keep ? *parameter.default_value : any[random() % any.size()]);
        if (parameter.name == "device") arguments.back() = Device::cpu();
        text += arguments.back().str() + "; ";
      }
      const std::string message = refusal(function, arguments);
      if (message.empty()) continue;
      ++refused;
      if (!message.starts_with(std::string(function.name) + ": ")) wrong = message + " | " + text;
    }
    EXPECT_EQ(wrong, "") << function.name << "(" << function.signature.str() << ")";
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace remora::bindings
