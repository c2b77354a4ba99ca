#include "dispatch/automatic_moves.h"

#include <cstdlib>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

absl::Status mixed_add() {
  return error_of([] {
    (void)numbers(op(OpCode::add, {floats(Device::cpu(), {1}), floats(Device::cpu(1), {2})}));
  });
}

TEST(AutomaticMoves, mixed_device_operands_are_moved) {
  const uint64_t before = stats().moved_operands;
  EXPECT_EQ(numbers(op(OpCode::add, {floats(Device::cpu(), {1}), floats(Device::cpu(1), {2})})),
            (Numbers{3}));
  EXPECT_EQ(stats().moved_operands, before + 1);
}

TEST(AutomaticMoves, strict_devices_refuses) {
  const uint64_t before = stats().moved_operands;
  strict_devices(true);
  EXPECT_TRUE(strict_devices());
  EXPECT_TRUE(fails_with(mixed_add(), absl::StatusCode::kFailedPrecondition,
                         {"add", "is on cpu:1", "runs on cpu;", "strict devices"}));
  EXPECT_EQ(numbers(op(OpCode::add, {floats(Device::cpu(), {1}), floats(Device::cpu(), {2})})),
            (Numbers{3}));
  EXPECT_EQ(stats().moved_operands, before);
  strict_devices(false);
  EXPECT_TRUE(mixed_add().ok());
}

TEST(AutomaticMoves, strict_devices_come_from_the_environment_unless_the_program_says) {
  // In a process of its own: what a program has said stays.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("REMORA_STRICT_DEVICES", "1", 1);
        bool right = mixed_add().code() == absl::StatusCode::kFailedPrecondition;
        setenv("REMORA_STRICT_DEVICES", "0", 1);
        right = right && mixed_add().ok();
        setenv("REMORA_STRICT_DEVICES", "1", 1);
        strict_devices(false);
        std::_Exit(right && mixed_add().ok() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace remora::test
