// The examples, run as a reader runs them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/child_process.h"
#include "tests/support/worker_process.h"

namespace remora::test {
namespace {

using testing::HasSubstr;

constexpr int kDeadline_ms = 120'000;

ProgramResult run_example(const std::string& name, const std::vector<std::string>& environment) {
  return run_program({std::string(REMORA_BIN_DIR) + "/" + name}, environment, kDeadline_ms);
}

TEST(Examples, quickstart_fits_the_line_here_and_on_a_worker_with_the_same_output) {
  const ProgramResult here = run_example("quickstart", {"REMORA_DEVICE=cpu"});
  EXPECT_EQ(here.code, 0) << here.output << here.errors;
  WorkerProcess worker;
  const ProgramResult there = run_example("quickstart", {"REMORA_DEVICE=" + worker.device()});
  EXPECT_EQ(there.code, 0) << there.output << there.errors;
  const auto without_device = [](const std::string& text) {
    return text.substr(0, text.rfind(" on "));
  };
  EXPECT_EQ(without_device(here.output), without_device(there.output));
  EXPECT_THAT(here.output, HasSubstr("200: "));
}

TEST(Examples, regression_learns_the_sine) {
  const ProgramResult result = run_example("regression", {"REMORA_DEVICE=cpu"});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("largest error"));
}

TEST(Examples, two_workers_train_one_model_to_the_losses_of_one) {
  const ProgramResult result = run_example("two_workers", {});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("alone: yes"));
}

TEST(Examples, an_unknown_device_is_named) {
  const ProgramResult result = run_example("quickstart", {"REMORA_DEVICE=abacus"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("abacus"));
}

}  // namespace
}  // namespace remora::test
