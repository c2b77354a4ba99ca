#include "dispatch/cut_policy.h"

#include <algorithm>

#include "dispatch/limits.h"
#include "gtest/gtest.h"
#include "tests/support/generators.h"

namespace remora::test {
namespace {

using dispatch::CutPolicy;
using dispatch::kMinCutOps;
using dispatch::kPendingOutputBytes;
using dispatch::SequenceSet;

/// After how many of `ops` the policy proposes, starting behind a hard end.
std::vector<size_t> proposals(const std::vector<uint64_t>& ops, bool cuts_are_taken = true) {
  CutPolicy policy;
  std::vector<size_t> places;
  for (size_t i = 0; i < ops.size(); ++i) {
    policy.add(ops[i], 4, i + 1);
    if (!policy.take_proposal()) continue;
    places.push_back(i);
    if (cuts_are_taken) policy.window_ended();
  }
  return places;
}

std::vector<uint64_t> random_ops(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<uint64_t> ops;
  for (size_t i = 0; i < count; ++i) ops.push_back(random.next());
  return ops;
}

TEST(CutPolicy, proposals_depend_on_content_alone) {
  const auto ops = random_ops(1, 5000);
  const auto places = proposals(ops);
  EXPECT_EQ(proposals(ops), places);
  EXPECT_GT(places.size(), 20u);
  // Behind some other ops the same content is cut at the same places, once the rolling hash has
  // seen only it.
  auto shifted = random_ops(2, 1000);
  shifted.insert(shifted.end(), ops.begin(), ops.end());
  const auto shifted_places = proposals(shifted);
  size_t common = 0;
  for (const size_t place : places) {
    common += std::find(shifted_places.begin(), shifted_places.end(), place + 1000) !=
              shifted_places.end();
  }
  EXPECT_GT(common * 10, places.size() * 8) << common << " of " << places.size();
}

TEST(CutPolicy, a_pass_that_declines_its_cuts_proposes_where_the_pass_that_took_them_did) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto ops = random_ops(seed, 3000);
    EXPECT_EQ(proposals(ops, false), proposals(ops, true)) << "seed " << seed;
  }
}

TEST(CutPolicy, proposes_no_earlier_than_the_minimum_and_about_once_in_64_ops) {
  const auto places = proposals(random_ops(3, 64'000));
  size_t last_end = 0;
  for (const size_t place : places) {
    EXPECT_GE(place + 1 - last_end, kMinCutOps);
    last_end = place + 1;
  }
  const double mean = 64'000.0 / static_cast<double>(places.size());
  EXPECT_GT(mean, 64.0);
  EXPECT_LT(mean, 160.0);
}

TEST(CutPolicy, a_byte_budget_of_held_outputs_proposes) {
  CutPolicy policy;
  size_t outputs = 0;
  for (size_t i = 0; i < kMinCutOps; ++i) policy.add(5, 1, ++outputs);
  ASSERT_FALSE(policy.take_proposal()) << "choose an op whose hash does not propose";
  policy.add(5, kPendingOutputBytes, ++outputs);
  ASSERT_TRUE(policy.over_budget());
  policy.recount(100, outputs);
  EXPECT_FALSE(policy.over_budget()) << "what was dropped does not count";
  EXPECT_FALSE(policy.take_proposal());
  policy.add(5, kPendingOutputBytes, ++outputs);
  ASSERT_TRUE(policy.over_budget());
  policy.recount(kPendingOutputBytes + 1, outputs);
  EXPECT_TRUE(policy.take_proposal());
  EXPECT_EQ(policy.span_begin(), outputs) << "counting starts anew";
  EXPECT_FALSE(policy.over_budget());
}

TEST(CutPolicy, the_sequence_is_that_of_all_ops_since_the_hard_end) {
  const auto sequence_of = [](const std::vector<uint64_t>& ops, bool cut_between) {
    CutPolicy policy;
    for (const uint64_t op : ops) {
      policy.add(op, 4, 1);
      if (cut_between) policy.window_ended();
    }
    return policy.sequence();
  };
  EXPECT_EQ(sequence_of({1, 2, 3}, false), sequence_of({1, 2, 3}, true));
  EXPECT_NE(sequence_of({1, 2, 3}, false), sequence_of({1, 3, 2}, false));
  EXPECT_NE(sequence_of({1, 2, 3}, false), sequence_of({2, 3}, false));
  CutPolicy policy;
  policy.add(9, 4, 1);
  policy.hard_end();
  for (const uint64_t op : {1, 2, 3}) policy.add(op, 4, 1);
  EXPECT_EQ(policy.sequence(), sequence_of({1, 2, 3}, false));
}

TEST(SequenceSet, remembers_the_most_recent_ones) {
  SequenceSet set(2);
  EXPECT_TRUE(set.insert(1));
  EXPECT_TRUE(set.insert(2));
  EXPECT_FALSE(set.insert(1));
  EXPECT_TRUE(set.insert(3)) << "2 goes";
  EXPECT_FALSE(set.insert(1));
  EXPECT_TRUE(set.insert(2));
}

}  // namespace
}  // namespace remora::test
