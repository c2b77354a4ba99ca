// Rows that move elements.
#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::AxisAttrs;
using dispatch::PermuteAttrs;
using dispatch::ShapeAttrs;
using dispatch::SliceAttrs;

void add_reshape(OpCases& cases) {
  cases.push_back({"reshape", "f32", {f32({3, 4})}, ShapeAttrs{{2, 6}}});
  cases.push_back({"reshape", "f32 to rank 1", {f32({2, 3, 2})}, ShapeAttrs{{12}}});
  cases.push_back({"reshape", "f32 to itself", {f32({3, 4})}, ShapeAttrs{{3, 4}}});
  cases.push_back({"reshape", "f32 to rank 0", {f32({1, 1})}, ShapeAttrs{{}}});
  cases.push_back({"reshape", "f32 from rank 0", {f32({})}, ShapeAttrs{{1, 1}}});
  cases.push_back({"reshape", "f32 empty", {f32({0, 4})}, ShapeAttrs{{2, 0, 7}}});
  cases.push_back({"reshape", "i64", {i64({4})}, ShapeAttrs{{2, 2}}});
  cases.push_back({"reshape", "bool", {boolean({4})}, ShapeAttrs{{4, 1}}});
}

void add_permute(OpCases& cases) {
  cases.push_back({"permute", "f32 transpose", {f32({3, 4})}, PermuteAttrs{{1, 0}}});
  cases.push_back({"permute", "f32 rotate", {f32({2, 3, 4})}, PermuteAttrs{{1, 2, 0}}});
  cases.push_back({"permute", "f32 identity", {f32({2, 3})}, PermuteAttrs{{0, 1}}});
  cases.push_back({"permute", "f32 rank 0", {f32({})}, PermuteAttrs{{}}});
  cases.push_back({"permute", "f32 empty", {f32({0, 3})}, PermuteAttrs{{1, 0}}});
  cases.push_back({"permute", "f32 large", {f32({70, 33})}, PermuteAttrs{{1, 0}}});
  cases.push_back({"permute", "i64", {i64({2, 3, 2})}, PermuteAttrs{{2, 0, 1}}});
  cases.push_back({"permute", "bool", {boolean({2, 3})}, PermuteAttrs{{1, 0}}});
}

void add_broadcast_to(OpCases& cases) {
  cases.push_back({"broadcast_to", "f32 new axis", {f32({3})}, ShapeAttrs{{2, 3}}});
  cases.push_back({"broadcast_to", "f32 size 1", {f32({3, 1})}, ShapeAttrs{{3, 4}}});
  cases.push_back({"broadcast_to", "f32 both", {f32({2, 1, 3})}, ShapeAttrs{{2, 2, 4, 3}}});
  cases.push_back({"broadcast_to", "f32 rank 0", {f32({})}, ShapeAttrs{{2, 2}}});
  cases.push_back({"broadcast_to", "f32 to itself", {f32({2, 3})}, ShapeAttrs{{2, 3}}});
  cases.push_back({"broadcast_to", "f32 to nothing", {f32({1, 3})}, ShapeAttrs{{0, 3}}});
  cases.push_back({"broadcast_to", "i64", {i64({1, 2})}, ShapeAttrs{{3, 2}}});
  cases.push_back({"broadcast_to", "bool", {boolean({1})}, ShapeAttrs{{5}}});
}

/// Starts, steps, sizes.
void add_slice(OpCases& cases) {
  cases.push_back({"slice", "f32 box", {f32({4, 5})}, SliceAttrs{{1, 2}, {1, 1}, {2, 3}}});
  cases.push_back({"slice", "f32 steps", {f32({6, 7})}, SliceAttrs{{1, 0}, {2, 3}, {3, 3}}});
  cases.push_back({"slice", "f32 backwards", {f32({4, 5})}, SliceAttrs{{3, 4}, {-1, -2}, {4, 3}}});
  cases.push_back(
      {"slice", "f32 mixed directions", {f32({4, 5})}, SliceAttrs{{3, 0}, {-3, 2}, {2, 3}}});
  cases.push_back({"slice", "f32 whole", {f32({2, 3})}, SliceAttrs{{0, 0}, {1, 1}, {2, 3}}});
  cases.push_back({"slice", "f32 of nothing", {f32({0, 3})}, SliceAttrs{{0, 1}, {1, 1}, {0, 2}}});
  cases.push_back({"slice", "f32 to nothing", {f32({4})}, SliceAttrs{{2}, {1}, {0}}});
  cases.push_back({"slice", "f32 rank 0", {f32({})}, SliceAttrs{{}, {}, {}}});
  cases.push_back({"slice", "i64", {i64({7})}, SliceAttrs{{6}, {-3}, {3}}});
  cases.push_back({"slice", "bool", {boolean({3, 3})}, SliceAttrs{{0, 1}, {2, 1}, {2, 1}}});
}

void add_slice_assign(OpCases& cases) {
  const std::string op = "slice_assign";
  cases.push_back({op, "f32 box", {f32({4, 5}), f32({2, 3})}, SliceAttrs{{1, 2}, {1, 1}, {2, 3}}});
  cases.push_back(
      {op, "f32 steps", {f32({6, 7}), f32({3, 3})}, SliceAttrs{{1, 0}, {2, 3}, {3, 3}}});
  cases.push_back(
      {op, "f32 backwards", {f32({4, 5}), f32({4, 3})}, SliceAttrs{{3, 4}, {-1, -2}, {4, 3}}});
  cases.push_back(
      {op, "f32 whole", {f32({2, 3}), f32({2, 3})}, SliceAttrs{{0, 0}, {1, 1}, {2, 3}}});
  cases.push_back({op, "f32 nothing assigned", {f32({4}), f32({0})}, SliceAttrs{{2}, {1}, {0}}});
  cases.push_back({op, "f32 rank 0", {f32({}), f32({})}, SliceAttrs{{}, {}, {}}});
  cases.push_back({op, "f32 empty", {f32({0}), f32({0})}, SliceAttrs{{0}, {1}, {0}}});
  cases.push_back({op, "i64", {i64({7}), i64({3})}, SliceAttrs{{6}, {-3}, {3}}});
  cases.push_back(
      {op, "bool", {boolean({3, 3}), boolean({2, 1})}, SliceAttrs{{0, 1}, {2, 1}, {2, 1}}});
}

void add_concat(OpCases& cases) {
  cases.push_back({"concat", "f32 first axis", {f32({2, 3}), f32({1, 3})}, AxisAttrs{0}});
  cases.push_back(
      {"concat", "f32 last axis", {f32({2, 3}), f32({2, 1}), f32({2, 2})}, AxisAttrs{1}});
  cases.push_back({"concat", "f32 middle axis", {f32({2, 1, 3}), f32({2, 2, 3})}, AxisAttrs{1}});
  cases.push_back({"concat", "f32 one tensor", {f32({2, 3})}, AxisAttrs{0}});
  cases.push_back(
      {"concat", "f32 with an empty one", {f32({2, 3}), f32({0, 3}), f32({1, 3})}, AxisAttrs{0}});
  cases.push_back({"concat", "f32 all empty", {f32({0, 3}), f32({0, 3})}, AxisAttrs{0}});
  cases.push_back({"concat", "i64", {i64({3}), i64({2})}, AxisAttrs{0}});
  cases.push_back({"concat", "bool", {boolean({1, 2}), boolean({1, 2})}, AxisAttrs{1}});
}

}  // namespace

void add_shape_cases(OpCases& cases) {
  add_reshape(cases);
  add_permute(cases);
  add_broadcast_to(cases);
  add_slice(cases);
  add_slice_assign(cases);
  add_concat(cases);
}

}  // namespace remora::test
