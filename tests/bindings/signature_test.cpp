#include "client/bindings/signature.h"

#include <gtest/gtest.h>

namespace remora::bindings {
namespace {

Signature parse(std::string_view text) { return *Signature::parse(text); }

std::string bound(std::string_view signature, std::vector<Argument> positional,
                  std::vector<NamedArgument> keywords = {}) {
  const auto arguments = parse(signature).bind("f", positional, keywords);
  if (!arguments.ok()) return std::string(arguments.status().message());
  return Argument(Argument::List(arguments->begin(), arguments->end())).str();
}

TEST(Signature, EveryKindOfDefaultIsReadAndPrintsBack) {
  const std::string_view text =
      "a, b=none, c=true, d=-1, e=1.5, f='mean', g=f32, h=[1, [2], false], i=[]";
  EXPECT_EQ(parse(text).str(), text);
}

TEST(Signature, BadTextIsRefused) {
  for (const char* text : {"a=", "=1", "a,,b", "a=what", "*a, *b", "a='open"}) {
    EXPECT_FALSE(Signature::parse(text).ok()) << text;
  }
}

TEST(Signature, ArgumentsBindByPlaceThenByNameThenByDefault) {
  EXPECT_EQ(bound("a, b=2, c=3", {int64_t{1}}, {{"c", int64_t{9}}}), "[1, 2, 9]");
  EXPECT_EQ(bound("", {}), "[]");
}

TEST(Signature, AStarredParameterTakesTheRest) {
  EXPECT_EQ(bound("a, *b", {int64_t{1}, int64_t{2}, int64_t{3}}), "[1, [2, 3]]");
  EXPECT_EQ(bound("a, *b", {int64_t{1}}), "[1, []]");
  EXPECT_EQ(bound("*b", {Argument::List{int64_t{1}, int64_t{2}}}), "[[1, 2]]");
  EXPECT_EQ(bound("*b, c=0", {int64_t{1}, int64_t{2}}, {{"c", int64_t{5}}}), "[[1, 2], 5]");
}

TEST(Signature, EachMistakeIsNamed) {
  EXPECT_NE(bound("a", {int64_t{1}, int64_t{2}}).find("at most 1"), std::string::npos);
  EXPECT_NE(bound("a", {int64_t{1}}, {{"b", int64_t{2}}}).find("no argument \"b\""),
            std::string::npos);
  EXPECT_NE(bound("a", {int64_t{1}}, {{"a", int64_t{2}}}).find("given twice"), std::string::npos);
  EXPECT_NE(bound("a, b=1", {}).find("\"a\" is missing"), std::string::npos);
}

}  // namespace
}  // namespace remora::bindings
