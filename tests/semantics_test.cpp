// docs/semantics.md: every rule has tests that exist, or says that it is open.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree_files.h"

namespace remora::tree {
namespace {

/// The cells of a table's row, without the white space around them; none for any other line.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with('|')) return cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) {
    const size_t begin = cell.find_first_not_of(' ');
    const size_t end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

/// What is wrong with the page; `tests` are those there are.
std::vector<std::string> check_page(const std::string& page, const std::set<std::string>& tests) {
  static const std::regex quoted(R"(`([^`]*)`)");
  std::vector<std::string> messages;
  size_t rules = 0;
  for (const std::string& line : lines_of(page)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty() || cells[0] == "rule" || cells[0].starts_with("---")) continue;
    ++rules;
    if (cells.size() != 3) {
      messages.push_back("not rule, tests and devices: " + line);
      continue;
    }
    const std::string& proof = cells[1];
    if (proof == "open" || proof.starts_with("open: ")) continue;
    auto name = std::sregex_iterator(proof.begin(), proof.end(), quoted);
    if (name == std::sregex_iterator()) messages.push_back("no test and not open: " + cells[0]);
    for (; name != std::sregex_iterator(); ++name) {
      if (!tests.contains((*name)[1])) messages.push_back("no such test: " + (*name)[1].str());
    }
    if (cells[2].empty()) messages.push_back("does not say on what it is tested: " + cells[0]);
  }
  if (rules == 0) messages.push_back("no rule at all");
  return messages;
}

/// "Suite.name" of every test in the code of `files`.
std::set<std::string> tests_of(const std::vector<SourceFile>& files) {
  static const std::regex macro(R"(\b(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\))");
  std::set<std::string> tests;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("tests/")) continue;
    const std::string code = code_of(file.text);
    for (auto test = std::sregex_iterator(code.begin(), code.end(), macro);
         test != std::sregex_iterator(); ++test) {
      tests.insert((*test)[1].str() + "." + (*test)[2].str());
    }
  }
  return tests;
}

TEST(Semantics, every_rule_has_tests_that_exist_or_is_open) {
  std::ifstream stream(REMORA_SOURCE_DIR "/docs/semantics.md");
  std::ostringstream page;
  page << stream.rdbuf();
  ASSERT_TRUE(stream) << "docs/semantics.md cannot be read";
  EXPECT_THAT(check_page(page.str(), tests_of(source_files())), testing::IsEmpty());
}

TEST(Semantics, what_is_wrong_with_a_page_is_said) {
  const std::set<std::string> tests = {"A.b"};
  const std::string head = "| rule | tests | on |\n|---|---|---|\n";
  EXPECT_THAT(check_page(head + "| x | `A.b` | cpu |\n| y | open: not yet | |\n", tests),
              testing::IsEmpty());
  EXPECT_THAT(check_page(head + "| x | `A.b`, `A.c` | cpu |\n", tests),
              testing::ElementsAre("no such test: A.c"));
  EXPECT_THAT(check_page(head + "| x | | cpu |\n", tests),
              testing::ElementsAre("no test and not open: x"));
  EXPECT_THAT(check_page(head + "| x | opening | cpu |\n", tests), testing::SizeIs(1));
  EXPECT_THAT(check_page(head + "| x | `A.b` |\n", tests), testing::SizeIs(1));
  EXPECT_THAT(check_page(head + "| x | `A.b` | |\n", tests), testing::SizeIs(1));
  EXPECT_THAT(check_page("no table", tests), testing::SizeIs(1));
}

TEST(Semantics, tests_are_found_by_their_macros_in_code_alone) {
  EXPECT_THAT(tests_of({{"tests/a.cpp", "TEST(A, b) {}\nTEST_P(C,\n       d) {}\n// TEST(E, f)\n"},
                        {"client/a.cpp", "TEST(G, h) {}\n"}}),
              testing::ElementsAre("A.b", "C.d"));
}

}  // namespace
}  // namespace remora::tree
