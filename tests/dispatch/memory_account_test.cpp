#include "dispatch/memory_account.h"

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using dispatch::MemoryAccount;
using dispatch::MemoryCharge;

TEST(MemoryAccount, charges_are_returned_exactly) {
  const auto account = std::make_shared<MemoryAccount>("session 3f2a", 100);
  {
    const MemoryCharge charge = *account->reserve(60);
    EXPECT_EQ(account->used_bytes(), 60);
    const MemoryCharge rest = *account->reserve(40);
    EXPECT_EQ(account->used_bytes(), 100);
  }
  EXPECT_EQ(account->used_bytes(), 0);
}

TEST(MemoryAccount, refusal_names_owner_and_numbers_and_takes_nothing) {
  const auto account = std::make_shared<MemoryAccount>("session 3f2a", 100);
  const MemoryCharge charge = *account->reserve(60);
  EXPECT_TRUE(fails_with(account->reserve(41).status(), absl::StatusCode::kResourceExhausted,
                         {"session 3f2a", "41", "60", "100"}));
  EXPECT_FALSE(account->reserve(INT64_MAX).ok());
  EXPECT_EQ(account->used_bytes(), 60);
}

TEST(MemoryAccount, a_moved_or_split_charge_is_returned_once) {
  const auto account = std::make_shared<MemoryAccount>("session", 100);
  {
    MemoryCharge whole = *account->reserve(50);
    MemoryCharge part = whole.split(20);
    EXPECT_EQ(part.bytes(), 20);
    EXPECT_EQ(whole.bytes(), 30);
    EXPECT_EQ(account->used_bytes(), 50);
    MemoryCharge moved = std::move(part);
    EXPECT_EQ(account->used_bytes(), 50);
    moved = MemoryCharge();
    EXPECT_EQ(account->used_bytes(), 30);
    EXPECT_EQ(whole.split(1000).bytes(), 30) << "no more than there is";
  }
  EXPECT_EQ(account->used_bytes(), 0);
}

TEST(MemoryAccount, outlives_its_owner_while_a_charge_is_held) {
  auto account = std::make_shared<MemoryAccount>("session", 100);
  const std::weak_ptr<MemoryAccount> watched = account;
  {
    const MemoryCharge charge = *account->reserve(5);
    account.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(MemoryAccount, an_account_within_another_counts_in_both) {
  const auto identity = std::make_shared<MemoryAccount>("identity alice", 100);
  const auto first = std::make_shared<MemoryAccount>("session 1", 80, identity);
  const auto second = std::make_shared<MemoryAccount>("session 2", 80, identity);
  {
    MemoryCharge charge = *first->reserve(60);
    EXPECT_EQ(identity->used_bytes(), 60);
    EXPECT_TRUE(fails_with(second->reserve(50).status(), absl::StatusCode::kResourceExhausted,
                           {"identity alice", "50", "60", "100"}));
    EXPECT_EQ(second->used_bytes(), 0);
    EXPECT_TRUE(fails_with(first->reserve(30).status(), absl::StatusCode::kResourceExhausted,
                           {"session 1", "30", "60", "80"}));
    const MemoryCharge part = charge.split(20);
    EXPECT_EQ(identity->used_bytes(), 60);
  }
  EXPECT_EQ(first->used_bytes(), 0);
  EXPECT_EQ(identity->used_bytes(), 0);
}

}  // namespace
}  // namespace remora::test
