#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::AxisAttrs;

void add_gather(OpCases& cases) {
  cases.push_back({"gather", "f32 last axis", {f32({3, 5}), index({3, 4}, 5)}, AxisAttrs{1}});
  cases.push_back({"gather", "f32 first axis", {f32({3, 5}), index({6, 5}, 3)}, AxisAttrs{0}});
  cases.push_back(
      {"gather", "f32 middle axis", {f32({2, 3, 4}), index({2, 2, 4}, 3)}, AxisAttrs{1}});
  cases.push_back({"gather", "f32 smaller index", {f32({3, 5}), index({2, 4}, 5)}, AxisAttrs{1}});
  cases.push_back({"gather", "f32 no index", {f32({3, 5}), index({3, 0}, 5)}, AxisAttrs{1}});
  cases.push_back({"gather", "f32 empty", {f32({0, 5}), index({0, 2}, 5)}, AxisAttrs{1}});
  cases.push_back({"gather", "f32 rank 1", {f32({5}), index({9}, 5)}, AxisAttrs{0}});
  cases.push_back({"gather", "i64", {i64({5}), index({3}, 5)}, AxisAttrs{0}});
  cases.push_back({"gather", "bool", {boolean({2, 5}), index({2, 3}, 5)}, AxisAttrs{1}});
}

void add_scatter_add(OpCases& cases) {
  const std::string op = "scatter_add";
  cases.push_back(
      {op, "f32 last axis", {f32({3, 5}), index({3, 4}, 5), f32({3, 4})}, AxisAttrs{1}});
  cases.push_back(
      {op, "f32 first axis", {f32({3, 5}), index({6, 5}, 3), f32({6, 5})}, AxisAttrs{0}});
  cases.push_back(
      {op, "f32 middle axis", {f32({2, 3, 4}), index({2, 2, 4}, 3), f32({2, 2, 4})}, AxisAttrs{1}});
  cases.push_back(
      {op, "f32 smaller index", {f32({3, 5}), index({2, 4}, 5), f32({2, 4})}, AxisAttrs{1}});
  cases.push_back({op, "f32 one place", {f32({2}), index({50}, 1), f32({50})}, AxisAttrs{0}});
  cases.push_back(
      {op, "f32 nothing added", {f32({3, 5}), index({3, 0}, 5), f32({3, 0})}, AxisAttrs{1}});
  cases.push_back({op, "f32 empty", {f32({0, 5}), index({0, 2}, 5), f32({0, 2})}, AxisAttrs{1}});
  cases.push_back({op, "i64", {i64({5}), index({8}, 5), i64({8})}, AxisAttrs{0}});
}

}  // namespace

void add_indexing_cases(OpCases& cases) {
  add_gather(cases);
  add_scatter_add(cases);
}

}  // namespace remora::test
