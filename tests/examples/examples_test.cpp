// The examples, run as a reader runs them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/child_process.h"
#include "tests/support/worker_process.h"

namespace remora::test {
namespace {

using testing::HasSubstr;

constexpr int kDeadline_ms = 120'000;

struct Result {
  int code;
  std::string output;
  std::string errors;
};

Result run_example(const std::string& name, const std::vector<std::string>& environment) {
  ChildProcess process({std::string(REMORA_BIN_DIR) + "/" + name}, environment);
  Result result;
  // Lines until the end of its output, which reads as an error.
  try {
    for (;;) result.output += process.read_line(kDeadline_ms) + "\n";
  } catch (const std::runtime_error&) {
  }
  result.code = process.wait(kDeadline_ms).code;
  result.errors = process.errors();
  return result;
}

TEST(Examples, quickstart_fits_the_line_here_and_on_a_worker_with_the_same_output) {
  const Result here = run_example("quickstart", {"REMORA_DEVICE=cpu"});
  EXPECT_EQ(here.code, 0) << here.output << here.errors;
  WorkerProcess worker;
  const Result there = run_example("quickstart", {"REMORA_DEVICE=" + worker.device()});
  EXPECT_EQ(there.code, 0) << there.output << there.errors;
  const auto without_device = [](const std::string& text) {
    return text.substr(0, text.rfind(" on "));
  };
  EXPECT_EQ(without_device(here.output), without_device(there.output));
  EXPECT_THAT(here.output, HasSubstr("200: "));
}

TEST(Examples, regression_learns_the_sine) {
  const Result result = run_example("regression", {"REMORA_DEVICE=cpu"});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("largest error"));
}

TEST(Examples, two_workers_train_one_model_to_the_losses_of_one) {
  const Result result = run_example("two_workers", {});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("alone: yes"));
}

TEST(Examples, an_unknown_device_is_named) {
  const Result result = run_example("quickstart", {"REMORA_DEVICE=abacus"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("abacus"));
}

}  // namespace
}  // namespace remora::test
