// The parts of the style that a program can check. Each rule is a function from a file to messages,
// and is tried on a planted violation, so that a rule that no longer sees anything fails.

#include <array>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree_files.h"

namespace remora::tree {
namespace {

constexpr size_t kHeaderLimitLines = 250;
constexpr size_t kSourceLimitLines = 500;
// The catalogue of what a user may call reads better whole.
constexpr std::array kLongHeaders = {"client/ops.h"};

bool is_header(const SourceFile& file) { return file.path.ends_with(".h"); }

std::vector<std::string> check_length(const SourceFile& file) {
  if (file.path.ends_with(".def")) return {};
  for (std::string_view exempt : kLongHeaders) {
    if (file.path == exempt) return {};
  }
  const size_t limit = is_header(file) ? kHeaderLimitLines : kSourceLimitLines;
  const size_t count = lines_of(file.text).size();
  if (count <= limit) return {};
  return {file.path + ": " + std::to_string(count) + " lines, limit " + std::to_string(limit) +
          "; split it by meaning"};
}

std::vector<std::string> check_name(const SourceFile& file) {
  static const std::regex vague(R"((^|_|/)(utils?|commons?|helpers?|managers?|misc)(_|\.|/))");
  static const std::regex snake(R"([a-z0-9_/.]+)");
  if (std::regex_search(file.path, vague))
    return {file.path + ": the name does not say what is in it"};
  if (!std::regex_match(file.path, snake)) return {file.path + ": file names are snake_case"};
  return {};
}

std::vector<std::string> check_header_opening(const SourceFile& file) {
  static const std::regex prose(R"(^// \S+ \S+ \S+)");
  static const std::regex guard(R"(#\s*ifndef\s+\w+_H_?\s)");
  if (!is_header(file)) return {};
  std::vector<std::string> messages;
  if (!std::regex_search(file.text, prose) || file.text.starts_with("// Copyright")) {
    messages.push_back(file.path +
                       ":1: a header opens with prose: what this is, who owns it, which threads");
  }
  if (file.text.find("\n#pragma once\n") == std::string::npos ||
      std::regex_search(file.text, guard)) {
    messages.push_back(file.path +
                       ": headers are guarded by #pragma once, after the opening comment");
  }
  return messages;
}

// `new` needs a comment on its line, or a telling one on the line above, that says who owns the
// object.
std::vector<std::string> check_new(const SourceFile& file) {
  static const std::regex raw_new(R"((^|[^:\w])new\s+[A-Za-z_:])");
  static const std::regex comment(R"(// \S+ \S+)");
  static const std::regex reason(R"(//.*(owned by|leaked|never destroyed|deletes itself))",
                                 std::regex::icase);
  const std::vector<std::string> code = lines_of(code_of(file.text));
  const std::vector<std::string> text = lines_of(file.text);
  std::vector<std::string> messages;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].find("new") == std::string::npos || code[i].starts_with('#')) continue;
    if (!std::regex_search(code[i], raw_new) || std::regex_search(text[i], comment)) continue;
    if (i > 0 && std::regex_search(text[i - 1], reason)) continue;
    messages.push_back(
        file.path + ":" + std::to_string(i + 1) +
        ": `new` without a comment that it is leaked, deletes itself, or who it is owned by");
  }
  return messages;
}

constexpr std::array kRules = {check_length, check_name, check_header_opening, check_new};

TEST(Style, EveryFileOfTheTreeKeepsTheRules) {
  for (const SourceFile& file : source_files()) {
    for (auto rule : kRules) {
      for (const std::string& message : rule(file)) ADD_FAILURE() << message;
    }
  }
}

std::string repeated(std::string_view line, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += line;
  return text;
}

TEST(Style, FilesHaveALimitOfLines) {
  EXPECT_THAT(check_length({"client/tensor.h", repeated("x\n", 251)}), testing::SizeIs(1));
  EXPECT_THAT(check_length({"client/tensor.h", repeated("x\n", 250)}), testing::IsEmpty());
  EXPECT_THAT(check_length({"client/tensor.cpp", repeated("x\n", 501)}), testing::SizeIs(1));
  EXPECT_THAT(check_length({"client/ops.h", repeated("x\n", 700)}), testing::IsEmpty());
  EXPECT_THAT(check_length({"dispatch/ops.def", repeated("x\n", 700)}), testing::IsEmpty());
}

TEST(Style, FileNamesSayWhatIsInside) {
  for (const char* path : {"client/utils.h", "client/string_util.cpp", "server/device_manager.h",
                           "client/common/a.h", "client/Tensor.h"}) {
    EXPECT_THAT(check_name({path, ""}), testing::SizeIs(1)) << path;
  }
  EXPECT_THAT(check_name({"client/commonality.h", ""}), testing::IsEmpty());
}

TEST(Style, HeadersOpenWithProseAndPragmaOnce) {
  EXPECT_THAT(check_header_opening({"client/a.h", "#pragma once\nint a;\n"}), testing::SizeIs(2));
  EXPECT_THAT(check_header_opening(
                  {"client/a.h", "// What this is.\n#ifndef A_H_\n#define A_H_\n#endif\n"}),
              testing::SizeIs(1));
  EXPECT_THAT(check_header_opening({"client/a.h", "// What this is.\n#pragma once\n"}),
              testing::IsEmpty());
}

TEST(Style, NewSaysWhoOwnsTheObject) {
  EXPECT_THAT(check_new({"client/a.cpp", "auto* a = new Thing;\n"}), testing::SizeIs(1));
  EXPECT_THAT(check_new({"client/a.cpp", "return Thing(new absl::Mutex());\n"}),
              testing::SizeIs(1));
  EXPECT_THAT(
      check_new({"client/a.cpp", "static auto& a = *new Thing;  // leaked: used at exit\n"}),
      testing::IsEmpty());
  EXPECT_THAT(check_new({"client/a.cpp", "// A call deletes itself in OnDone.\nnew Call(this);\n"}),
              testing::IsEmpty());
  EXPECT_THAT(check_new({"client/a.cpp",
                         "// a new thing\nauto b = \"a new thing\";\n::new (place) Thing;\n"}),
              testing::IsEmpty());
}

}  // namespace
}  // namespace remora::tree
