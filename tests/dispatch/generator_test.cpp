// Random draws: the generator of a device, seeds and offsets.
#include <algorithm>
#include <thread>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

Value draw(const Device& device, int64_t count, OpCode code = OpCode::uniform) {
  return submit_random(code, {DType::kF32, {count}}, device);
}

/// What a draw of `count` at `offset` must give.
Numbers expected(uint64_t seed, uint64_t offset, int64_t count) {
  const Device cpu = Device::cpu();
  return numbers(
      submit(OpCode::uniform, {}, RandomAttrs{DType::kF32, {count}, seed, offset}, &cpu)[0]);
}

TEST(Generator, seed_reproduces) {
  const Device cpu = Device::cpu();
  manual_seed(7);
  const Numbers first = numbers(draw(cpu, 9));
  const Numbers second = numbers(draw(cpu, 9));
  EXPECT_NE(first, second);
  manual_seed(7);
  EXPECT_EQ(numbers(draw(cpu, 9)), first);
  EXPECT_EQ(numbers(draw(cpu, 9)), second);
  manual_seed(8);
  EXPECT_NE(numbers(draw(cpu, 9)), first);
}

TEST(Generator, seed_across_devices) {
  Device::cpu(1).state();
  manual_seed(7);
  EXPECT_EQ(numbers(draw(Device::cpu(0), 9)), numbers(draw(Device::cpu(1), 9)));
  EXPECT_EQ(numbers(draw(Device::vulkan(), 9)), expected(7, 0, 9))
      << "opened after the seed was set";
}

TEST(Generator, offsets_are_taken_in_recording_order_four_words_each) {
  const Device cpu = Device::cpu();
  manual_seed(3);
  const Value a = draw(cpu, 5);
  const Value nothing = draw(cpu, 0);
  const Value b = draw(cpu, 4);
  const Value c = draw(cpu, 1);
  EXPECT_EQ(numbers(c), expected(3, 3, 1)) << "read in another order";
  EXPECT_EQ(numbers(a), expected(3, 0, 5));
  EXPECT_EQ(numbers(b), expected(3, 2, 4));
  EXPECT_EQ(numbers(nothing), Numbers{});
}

TEST(Generator, a_draw_that_is_never_read_still_takes_its_offsets) {
  const Device cpu = Device::cpu();
  manual_seed(3);
  draw(cpu, 8);
  EXPECT_EQ(numbers(draw(cpu, 4)), expected(3, 2, 4));
}

TEST(Generator, offsets_never_overlap_between_threads) {
  const Device cpu = Device::cpu();
  manual_seed(5);
  std::vector<Value> draws(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 2; ++i) draws[2 * t + i] = draw(cpu, 4);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Numbers> drawn, all;
  for (const Value& value : draws) drawn.push_back(numbers(value));
  for (uint64_t offset = 0; offset < 8; ++offset) all.push_back(expected(5, offset, 4));
  std::sort(drawn.begin(), drawn.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(drawn, all);
}

TEST(Generator, integers_cannot_be_drawn) {
  EXPECT_TRUE(fails_with(error_of([] {
                           submit_random(OpCode::uniform, {DType::kI64, {4}}, Device::cpu());
                         }),
                         absl::StatusCode::kInvalidArgument, {"uniform", "i64"}));
  manual_seed(3);
  (void)error_of([] { submit_random(OpCode::uniform, {DType::kI64, {4}}, Device::cpu()); });
  EXPECT_EQ(numbers(draw(Device::cpu(), 4)), expected(3, 0, 4)) << "a refusal takes no offset";
}

}  // namespace
}  // namespace remora::test
