// The examples, run as a reader runs them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/worker_process.h"

namespace remora::test {
namespace {

using testing::HasSubstr;

constexpr int kDeadline_ms = 120'000;

ProgramResult run_example(const std::string& name, const std::vector<std::string>& environment,
                          const std::vector<std::string>& options = {}) {
  std::vector<std::string> command = {std::string(REMORA_BIN_DIR) + "/" + name};
  command.insert(command.end(), options.begin(), options.end());
  return run_program(command, environment, kDeadline_ms);
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

TEST(Examples, char_lm_learns_a_text_and_writes_the_same_here_and_on_a_worker) {
  const std::vector<std::string> options = {
      "--text", std::string(REMORA_SOURCE_DIR) + "/LICENSE", "--steps", "20", "--write", "20"};
  const ProgramResult here = run_example("char_lm", {"REMORA_DEVICE=cpu"}, options);
  EXPECT_EQ(here.code, 0) << here.output << here.errors;
  WorkerProcess worker;
  const ProgramResult there = run_example("char_lm", {"REMORA_DEVICE=" + worker.device()}, options);
  EXPECT_EQ(there.code, 0) << there.output << there.errors;
  const auto without_device = [](const std::string& text) { return text.substr(text.find('\n')); };
  EXPECT_EQ(without_device(here.output), without_device(there.output));
  EXPECT_THAT(here.output, HasSubstr("step   20: "));
  EXPECT_THAT(here.output, HasSubstr("---\n"));
}

TEST(Examples, char_lm_names_a_text_that_is_missing_or_too_short) {
  const ProgramResult missing = run_example("char_lm", {}, {"--text", "/nowhere/text"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("cannot read /nowhere/text"));
  const ProgramResult empty = run_example("char_lm", {}, {"--text", "/dev/null"});
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.errors, HasSubstr("the text has 0 characters"));
}

TEST(Examples, two_workers_train_one_model_to_the_losses_of_one) {
  const ProgramResult result = run_example("two_workers", {});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("alone: yes"));
}

TEST(Examples, capture_mnist_runs_its_file_on_a_worker_by_one_message_a_call) {
  const TemporaryFolder folder;
  const ProgramResult result = run_example("capture_mnist", {},
                                           {"--graph", folder / "mnist.graph", "--dot",
                                            folder / "mnist.dot", "--calls", "20", "--list"});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr(": 20 calls, 20 plan hits, 20 messages of "));
  EXPECT_THAT(result.output, HasSubstr("bit-identical to cpu: yes"));
  EXPECT_THAT(result.output, HasSubstr("softmax("));
  EXPECT_EQ(folder.size(), 2u);
}

TEST(Examples, an_unknown_device_is_named) {
  const ProgramResult result = run_example("quickstart", {"REMORA_DEVICE=abacus"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("abacus"));
}

}  // namespace
}  // namespace remora::test
