#include "server/value_table.h"

#include "gtest/gtest.h"
#include "server/limits.h"

namespace remora::server {
namespace {

using dispatch::Value;
using dispatch::ValueId;

constexpr size_t kMany = 100;

Value make(ValueId id) { return Value::make(id, Spec(), nullptr); }

void add(ValueTable& table, ValueId id) { table.add(id, make(id)); }

TEST(ValueTable, a_window_number_is_used_once) {
  ValueTable table(kMany);
  EXPECT_TRUE(table.open_window(7).ok());
  EXPECT_EQ(table.open_window(7).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(table.open_window(6).ok()) << "threads hand in windows out of order";
}

TEST(ValueTable, a_window_whose_value_lives_is_never_forgotten) {
  ValueTable table(kMany);
  add(table, {1, 5});
  for (uint64_t window = 2; window < kRememberedWindows + 10; ++window)
    ASSERT_TRUE(table.open_window(window).ok());
  EXPECT_EQ(table.open_window(1).code(), absl::StatusCode::kAlreadyExists);
}

TEST(ValueTable, host_data_takes_its_window_number) {
  ValueTable table(kMany);
  add(table, {3, 0});
  table.drop(3, 0, 1);
  EXPECT_EQ(table.open_window(3).code(), absl::StatusCode::kAlreadyExists);
}

TEST(ValueTable, a_drop_takes_its_range_alone) {
  ValueTable table(kMany);
  for (uint32_t index = 0; index < 10; ++index) add(table, {1, index});
  add(table, {2, 0});
  table.drop(1, 3, 4);
  for (uint32_t index = 0; index < 10; ++index) {
    EXPECT_EQ(static_cast<bool>(table.find({1, index})), index < 3 || index > 6) << index;
  }
  table.drop(1, 7, 65'529);
  EXPECT_FALSE(table.find({1, 9}));
  EXPECT_TRUE(table.find({2, 0}));
}

TEST(ValueTable, values_beyond_its_limit_are_refused_with_both_numbers) {
  ValueTable table(2);
  add(table, {1, 0});
  EXPECT_TRUE(table.check_room(1).ok());
  const absl::Status refused = table.check_room(2);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the session holds 1 values and 2 more are asked for; at most 2 are allowed");
}

TEST(ValueTable, a_value_lives_for_as_long_as_somebody_holds_it) {
  ValueTable table(kMany);
  add(table, {1, 0});
  const Value held = table.find({1, 0});
  EXPECT_FALSE(held.unique());
  table.erase({1, 0});
  EXPECT_TRUE(held.unique());
  EXPECT_FALSE(table.find({1, 0}));
}

}  // namespace
}  // namespace remora::server
