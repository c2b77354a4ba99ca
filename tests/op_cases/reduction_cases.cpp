// Reductions, and softmax.
#include <cmath>

#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::ArgReduceAttrs;
using dispatch::AxisAttrs;
using dispatch::ReduceAttrs;

void add_sum(OpCases& cases) {
  cases.push_back({"sum", "f32 last axis", {f32({3, 5})}, ReduceAttrs{{1}, false}});
  cases.push_back({"sum", "f32 first axis", {f32({3, 5})}, ReduceAttrs{{0}, false}});
  cases.push_back({"sum", "f32 middle axis kept", {f32({2, 3, 4})}, ReduceAttrs{{1}, true}});
  cases.push_back({"sum", "f32 outer axes", {f32({2, 3, 4})}, ReduceAttrs{{0, 2}, false}});
  cases.push_back({"sum", "f32 all axes", {f32({2, 3, 4})}, ReduceAttrs{{0, 1, 2}, false}});
  cases.push_back({"sum", "f32 all axes kept", {f32({2, 3})}, ReduceAttrs{{0, 1}, true}});
  cases.push_back({"sum", "f32 no axes", {f32({2, 3})}, ReduceAttrs{{}, false}});
  cases.push_back({"sum", "f32 rank 0", {f32({})}, ReduceAttrs{{}, false}});
  cases.push_back({"sum", "f32 of nothing", {f32({2, 0})}, ReduceAttrs{{1}, false}});
  cases.push_back({"sum", "f32 empty", {f32({0, 4})}, ReduceAttrs{{1}, false}});
  cases.push_back({"sum", "f32 long", {f32({100'003}, 0.0, 1.0)}, ReduceAttrs{{0}, false}});
  cases.push_back({"sum", "f32 long columns", {f32({3001, 7})}, ReduceAttrs{{0}, false}});
  cases.push_back({"sum", "i64", {i64({3, 5})}, ReduceAttrs{{0}, false}});
  cases.push_back({"sum",
                   "i64 wraps",
                   {i64({9}, int64_t{1} << 60, int64_t{1} << 62)},
                   ReduceAttrs{{0}, false}});
  cases.push_back({"sum", "i64 of nothing", {i64({0})}, ReduceAttrs{{0}, true}});
}

void add_amax(OpCases& cases) {
  const double nan = std::nan("");
  cases.push_back({"amax", "f32 last axis", {distinct({3, 5})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amax", "f32 first axis kept", {distinct({3, 5})}, ReduceAttrs{{0}, true}});
  cases.push_back({"amax", "f32 outer axes", {distinct({2, 3, 4})}, ReduceAttrs{{0, 2}, false}});
  cases.push_back({"amax", "f32 all axes", {distinct({2, 3})}, ReduceAttrs{{0, 1}, false}});
  cases.push_back({"amax", "f32 no axes", {distinct({2, 3})}, ReduceAttrs{{}, false}});
  cases.push_back({"amax", "f32 rank 0", {distinct({})}, ReduceAttrs{{}, false}});
  cases.push_back(
      {"amax", "f32 NaN", {listed({2, 3}, {1, nan, 3, 4, 5, 6})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amax", "f32 special values", {special_floats()}, ReduceAttrs{{0}, false}});
  cases.push_back({"amax",
                   "f32 minus infinity",
                   {listed({2}, {-INFINITY, -INFINITY})},
                   ReduceAttrs{{0}, false}});
  cases.push_back({"amax", "f32 empty", {f32({0, 4})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amax", "f32 long", {f32({100'003})}, ReduceAttrs{{0}, false}});
  cases.push_back({"amax", "i64", {i64({3, 5})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amax", "bool", {boolean({4, 2})}, ReduceAttrs{{1}, false}});
}

void add_argmax(OpCases& cases) {
  const double nan = std::nan("");
  cases.push_back({"argmax", "f32 last axis", {distinct({3, 5})}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmax", "f32 first axis kept", {distinct({3, 5})}, ArgReduceAttrs{0, true}});
  cases.push_back({"argmax", "f32 middle axis", {distinct({2, 3, 4})}, ArgReduceAttrs{1, false}});
  cases.push_back(
      {"argmax", "f32 NaN first", {listed({4}, {1, nan, 3, nan})}, ArgReduceAttrs{0, false}});
  cases.push_back(
      {"argmax", "f32 lowest of equals", {listed({4}, {2, 7, 7, 1})}, ArgReduceAttrs{0, false}});
  cases.push_back(
      {"argmax", "f32 both zeros", {listed({3}, {-0.0, 0.0, -0.0})}, ArgReduceAttrs{0, false}});
  cases.push_back({"argmax",
                   "f32 minus infinity",
                   {listed({2}, {-INFINITY, -INFINITY})},
                   ArgReduceAttrs{0, false}});
  cases.push_back({"argmax", "f32 empty", {f32({0, 4})}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmax", "f32 long", {f32({3, 4001})}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmax", "i64 ties", {i64({6, 9}, 0, 3)}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmax", "bool", {boolean({3, 4})}, ArgReduceAttrs{1, true}});
}

void add_softmax(OpCases& cases) {
  cases.push_back({"softmax", "last axis", {f32({3, 5})}, AxisAttrs{1}});
  cases.push_back({"softmax", "first axis", {f32({3, 5})}, AxisAttrs{0}});
  cases.push_back({"softmax", "middle axis", {f32({2, 3, 4})}, AxisAttrs{1}});
  cases.push_back({"softmax", "one element", {f32({3, 1})}, AxisAttrs{1}});
  cases.push_back({"softmax", "large values", {f32({2, 6}, -500.0, 500.0)}, AxisAttrs{1}});
  cases.push_back(
      {"softmax", "minus infinity", {listed({3}, {0.0, -INFINITY, 1.0})}, AxisAttrs{0}});
  cases.push_back(
      {"softmax", "NaN", {listed({2, 2}, {0.0, std::nan(""), 1.0, 2.0})}, AxisAttrs{1}});
  cases.push_back({"softmax", "no rows", {f32({0, 4})}, AxisAttrs{1}});
  cases.push_back({"softmax", "empty axis", {f32({4, 0})}, AxisAttrs{1}});
  cases.push_back({"softmax", "long", {f32({2, 3001})}, AxisAttrs{1}});
}

}  // namespace

void add_reduction_cases(OpCases& cases) {
  add_sum(cases);
  add_amax(cases);
  add_argmax(cases);
  add_softmax(cases);
}

}  // namespace remora::test
