// The table itself is complete.
#include <algorithm>
#include <set>

#include "gtest/gtest.h"
#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

TEST(OpCaseTable, every_catalogue_row_has_a_case) {
  std::set<std::string, std::less<>> covered;
  for (const OpCase& op_case : op_cases()) covered.insert(op_case.op);
  for (const dispatch::OpInfo& row : dispatch::catalogue()) {
    EXPECT_TRUE(covered.contains(row.name)) << "add a case for '" << row.name << "'";
  }
}

TEST(OpCaseTable, every_catalogue_row_has_a_reference) {
  for (const dispatch::OpInfo& row : dispatch::catalogue()) {
    EXPECT_TRUE(reference::table().contains(row.name))
        << "add a reference for '" << row.name << "'";
  }
}

TEST(OpCaseTable, every_row_is_tried_with_nothing_and_in_each_of_its_dtypes) {
  for (const dispatch::OpInfo& row : dispatch::catalogue()) {
    bool empty = false;
    std::set<std::string, std::less<>> tried, taken;
#define DTYPE(number, enumerator, name, ...) \
  if (dispatch::contains(row.dtypes, DType::enumerator)) taken.insert(#name);
#include "dispatch/dtypes.def"
#undef DTYPE
    for (const OpCase& op_case : op_cases()) {
      if (op_case.op != row.name) continue;
      std::vector<Spec> specs;
      for (const Input& input : op_case.inputs) specs.push_back(input.spec);
      const auto outputs = dispatch::infer(row, specs, op_case.attrs);
      ASSERT_TRUE(outputs.ok()) << op_case.title() << ": " << outputs.status();
      tried.emplace(dtype_name(dispatch::op_dtype(row, specs, *outputs)));
      specs.insert(specs.end(), outputs->begin(), outputs->end());
      empty |= std::ranges::any_of(specs, [](const Spec& spec) { return spec.numel() == 0; });
    }
    EXPECT_TRUE(empty) << "add a zero-size case for '" << row.name << "'";
    EXPECT_EQ(tried, taken) << "cases of '" << row.name << "' do not cover its dtypes";
  }
}

TEST(OpCaseTable, every_title_is_unique) {
  std::set<std::string> titles;
  for (const OpCase& op_case : op_cases()) {
    EXPECT_TRUE(titles.insert(op_case.title()).second) << op_case.title() << " appears twice";
  }
}

}  // namespace
}  // namespace remora::test
