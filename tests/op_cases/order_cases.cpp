// Products and minima, what runs along one axis in order, and scattering.
#include <cmath>

#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::ArgReduceAttrs;
using dispatch::AxisAttrs;
using dispatch::ReduceAttrs;
using dispatch::ScatterAttrs;
using dispatch::SortAttrs;

void add_prod(OpCases& cases) {
  const std::string op = "prod";
  cases.push_back({op, "f32 last axis", {f32({3, 5})}, ReduceAttrs{{1}, false}});
  cases.push_back({op, "f32 first axis kept", {f32({3, 5})}, ReduceAttrs{{0}, true}});
  cases.push_back({op, "f32 outer axes", {f32({2, 3, 4})}, ReduceAttrs{{0, 2}, false}});
  cases.push_back({op, "f32 all axes", {f32({2, 3})}, ReduceAttrs{{0, 1}, false}});
  cases.push_back({op, "f32 no axes", {f32({2, 3})}, ReduceAttrs{{}, false}});
  cases.push_back({op, "f32 of nothing", {f32({2, 0})}, ReduceAttrs{{1}, false}});
  cases.push_back({op, "f32 long", {f32({40'003}, 0.999, 1.001)}, ReduceAttrs{{0}, false}});
  cases.push_back({op, "f32 zeros", {listed({5}, {2, 0, 3, -0.0, 4})}, ReduceAttrs{{0}, false}});
  cases.push_back({op, "i64", {i64({3, 5})}, ReduceAttrs{{0}, false}});
  cases.push_back({op, "i64 wraps", {i64({30}, 7, 90)}, ReduceAttrs{{0}, false}});
}

void add_minima(OpCases& cases) {
  const double nan = std::nan("");
  cases.push_back({"amin", "f32 last axis", {distinct({3, 5})}, ReduceAttrs{{1}, false}});
  cases.push_back(
      {"amin", "f32 outer axes kept", {distinct({2, 3, 4})}, ReduceAttrs{{0, 2}, true}});
  cases.push_back(
      {"amin", "f32 NaN", {listed({2, 3}, {1, nan, 3, 4, 5, 6})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amin", "f32 infinite", {listed({2}, {INFINITY, INFINITY})}, ReduceAttrs{{0}}});
  cases.push_back({"amin", "f32 empty", {f32({0, 4})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amin", "i64", {i64({3, 5})}, ReduceAttrs{{1}, false}});
  cases.push_back({"amin", "bool", {boolean({4, 2})}, ReduceAttrs{{1}, false}});
  cases.push_back({"argmin", "f32 last axis", {distinct({3, 5})}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmin", "f32 first axis kept", {distinct({3, 5})}, ArgReduceAttrs{0, true}});
  cases.push_back(
      {"argmin", "f32 NaN first", {listed({4}, {1, nan, 0, nan})}, ArgReduceAttrs{0, false}});
  cases.push_back({"argmin", "f32 empty", {f32({0, 4})}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmin", "i64 ties", {i64({6, 9}, 0, 3)}, ArgReduceAttrs{1, false}});
  cases.push_back({"argmin", "bool", {boolean({3, 4})}, ArgReduceAttrs{1, true}});
}

void add_scans(OpCases& cases) {
  for (const char* op : {"cumsum", "cumprod"}) {
    cases.push_back({op, "f32 last axis", {f32({3, 5})}, AxisAttrs{1}});
    cases.push_back({op, "f32 first axis", {f32({3, 5})}, AxisAttrs{0}});
    cases.push_back({op, "f32 middle axis", {f32({2, 3, 4})}, AxisAttrs{1}});
    cases.push_back({op, "f32 one element", {f32({3, 1})}, AxisAttrs{1}});
    cases.push_back({op, "f32 empty axis", {f32({3, 0})}, AxisAttrs{1}});
    cases.push_back({op, "f32 no lines", {f32({0, 3})}, AxisAttrs{1}});
    cases.push_back({op, "f32 long", {f32({40'003}, 0.999, 1.001)}, AxisAttrs{0}});
    cases.push_back({op, "f32 long columns", {f32({17'001, 3}, 0.999, 1.001)}, AxisAttrs{0}});
    cases.push_back({op, "i64", {i64({3, 5})}, AxisAttrs{1}});
    cases.push_back(
        {op, "i64 wraps", {i64({40}, int64_t{1} << 60, int64_t{1} << 61)}, AxisAttrs{0}});
  }
  cases.push_back({"cumprod", "f32 zeros", {listed({5}, {2, 0, 3, 0, 4})}, AxisAttrs{0}});
  const double nan = std::nan("");
  for (const char* op : {"cummax", "cummin"}) {
    cases.push_back({op, "f32 last axis", {distinct({3, 5})}, AxisAttrs{1}});
    cases.push_back({op, "f32 middle axis", {distinct({2, 3, 4})}, AxisAttrs{1}});
    cases.push_back({op, "f32 NaN", {listed({6}, {1, 3, nan, 5, nan, 0})}, AxisAttrs{0}});
    cases.push_back({op, "f32 long", {f32({40'003})}, AxisAttrs{0}});
    cases.push_back({op, "f32 empty", {f32({0, 3})}, AxisAttrs{0}});
    cases.push_back({op, "i64 ties", {i64({6, 9}, 0, 3)}, AxisAttrs{1}});
    cases.push_back({op, "bool", {boolean({3, 4})}, AxisAttrs{1}});
  }
}

void add_sort(OpCases& cases) {
  const double nan = std::nan("");
  for (const bool descending : {false, true}) {
    const std::string suffix = descending ? ", descending" : "";
    const auto add = [&](const std::string& name, Input input, int64_t axis) {
      cases.push_back({"sort", name + suffix, {std::move(input)}, SortAttrs{axis, descending}});
    };
    add("f32 last axis", distinct({3, 5}), 1);
    add("f32 first axis", distinct({3, 5}), 0);
    add("f32 middle axis", distinct({2, 3, 4}), 1);
    add("f32 NaN", listed({7}, {1, nan, -3, INFINITY, nan, -INFINITY, 0}), 0);
    add("f32 both zeros", listed({4}, {0.0, -0.0, 0.0, -0.0}), 0);
    add("f32 special values", special_floats(), 0);
    add("f32 long", f32({3, 4001}), 1);
    add("f32 empty axis", f32({3, 0}), 1);
    add("f32 no lines", f32({0, 3}), 1);
    add("i64 ties", i64({6, 9}, 0, 3), 1);
    add("i64 long ties", i64({2001}, -20, 20), 0);
    add("i64 far apart", i64({100}, -(int64_t{1} << 62), int64_t{1} << 62), 0);
    add("bool", boolean({3, 4}), 1);
    add("bool long", boolean({300}), 0);
  }
}

void add_scatter(OpCases& cases) {
  const std::string op = "scatter";
  cases.push_back(
      {op, "f32 last axis", {f32({3, 5}), index({3, 4}, 5), f32({3, 4})}, AxisAttrs{1}});
  cases.push_back(
      {op, "f32 first axis", {f32({3, 5}), index({6, 5}, 3), f32({6, 5})}, AxisAttrs{0}});
  cases.push_back(
      {op, "f32 smaller index", {f32({3, 5}), index({2, 4}, 5), f32({2, 4})}, AxisAttrs{1}});
  cases.push_back({op, "f32 one place", {f32({2}), index({50}, 1), f32({50})}, AxisAttrs{0}});
  cases.push_back({op, "f32 empty", {f32({0, 5}), index({0, 2}, 5), f32({0, 2})}, AxisAttrs{1}});
  cases.push_back({op, "i64", {i64({5}), index({8}, 5), i64({8})}, AxisAttrs{0}});
  cases.push_back({op, "bool", {boolean({5}), index({8}, 5), boolean({8})}, AxisAttrs{0}});
  for (const int64_t reduction : {0, 1, 2}) {
    const std::string name = ", reduction " + std::to_string(reduction);
    const auto add = [&](const std::string& what, std::vector<Input> inputs, int64_t axis) {
      cases.push_back(
          {"scatter_reduce", what + name, std::move(inputs), ScatterAttrs{axis, reduction}});
    };
    add("f32 last axis", {f32({3, 5}), index({3, 4}, 5), f32({3, 4})}, 1);
    add("f32 first axis", {f32({3, 5}), index({6, 5}, 3), f32({6, 5})}, 0);
    add("f32 one place", {f32({2}), index({20}, 1), f32({20}, 0.8, 1.2)}, 0);
    add("f32 NaN", {listed({2}, {1, 2}), index({2}, 1), listed({2}, {std::nan(""), 3})}, 0);
    add("f32 empty", {f32({0, 5}), index({0, 2}, 5), f32({0, 2})}, 1);
    add("i64", {i64({5}), index({8}, 5), i64({8})}, 0);
  }
}

}  // namespace

void add_order_cases(OpCases& cases) {
  add_prod(cases);
  add_minima(cases);
  add_scans(cases);
  add_sort(cases);
  add_scatter(cases);
}

}  // namespace remora::test
