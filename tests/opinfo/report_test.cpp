#include "tests/opinfo/report.h"

#include <gtest/gtest.h>

#include <fstream>

namespace remora::opinfo {
namespace {

Case named(const std::string& id, const std::string& op, bool must_fail = false) {
  Case sample;
  sample.id = id;
  sample.op = op;
  sample.must_fail = must_fail;
  return sample;
}

Report mixed_report() {
  Report report;
  report.add(named("a/0", "a"), {Verdict::kPassed, "", 1});
  report.add(named("a/1", "a"), {Verdict::kFailed, "differs", 2});
  report.add(named("b/0", "b"), {Verdict::kUnsupported, "no b", 0, true});
  report.add(named("b/1", "b"), {Verdict::kUnsupported, "no b", 0, true});
  report.add(named("a/2", "a"), {Verdict::kUnsupported, "no bf16", 0, false});
  report.add(named("a/error/0", "a", true), {Verdict::kPassed, "", 0});
  report.add(named("a/error/1", "a", true), {Verdict::kFailed, "answers", 0});
  report.add(named("c/error/0", "c", true), {Verdict::kUnsupported, "no c", 0, true});
  return report;
}

TEST(Report, JsonHasExactlyTheAgreedFields) {
  EXPECT_EQ(mixed_report().json(),
            R"({"passed":1,"failed":["a/1"],"unsupported":["b/0","b/1","a/2","c/error/0"],)"
            R"("unsupported_ops":["b","c"],"error_passed":1,"error_failed":["a/error/1"]})");
}

TEST(Report, AnOperatorOfferedForSomeCasesIsNoUnsupportedOne) {
  Report report;
  report.add(named("a/0", "a"), {Verdict::kPassed, "", 1});
  report.add(named("a/1", "a"), {Verdict::kUnsupported, "not with these arguments", 0, true});
  EXPECT_NE(report.json().find(R"("unsupported":["a/1"],"unsupported_ops":[])"), std::string::npos);
}

TEST(Report, KnownFailuresAreNoNewFailures) {
  const KnownFailures known{{"a/1", "a tie"}, {"a/0", "repaired since"}};
  const auto failures = mixed_report().new_failures(known);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].first, "a/error/1");
  EXPECT_EQ(mixed_report().repaired(known), std::vector<std::string>{"a/0"});
}

TEST(Report, AnswersDifferWhereABitDiffers) {
  const Report report = mixed_report();
  EXPECT_EQ(answers_difference(report.answers(), report.answers()), "");
  Report other;
  other.add(named("a/0", "a"), {Verdict::kPassed, "", 3});
  EXPECT_NE(answers_difference(other.answers(), report.answers()), "");
  EXPECT_NE(answers_difference("", report.answers()), "");
}

TEST(Report, AKnownFailureNeedsAReason) {
  const std::string path = testing::TempDir() + "/known_failures.txt";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_known_failures(path);
  };
  const auto known = read("# comment\n\na/1  lowest index among equals\n");
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->at("a/1"), "lowest index among equals");
  EXPECT_FALSE(read("a/1\n").ok());
  EXPECT_FALSE(read("a/1  x\na/1  y\n").ok());
  EXPECT_EQ(read_known_failures(path + ".absent").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace remora::opinfo
