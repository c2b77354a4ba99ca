// Elementwise rows. One line gives a row its whole set: every dtype the row takes, ranks 0 to 4,
// sizes 0 and beyond a block, broadcasting on both sides, and special values against each other.
#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::DTypeAttrs;

/// Longer than any block a kernel works in, and no multiple of a vector.
constexpr int64_t kLong = 5003;

bool takes(const std::string& op, dispatch::DTypeSet set) {
  const dispatch::OpInfo* info = dispatch::find_op(op);
  return info != nullptr && (info->dtypes & set) != 0;
}

bool divides(std::string_view op) {
  return op == "fmod" || op == "remainder" || op == "floor_divide";
}

/// `low` and `high` bound the floats where the function is defined and its gradient is moderate.
void unary(OpCases& cases, const std::string& op, double low = -2.0, double high = 2.0) {
  if (takes(op, dispatch::kFloats)) {
    cases.push_back({op, "f32", {f32({3, 4}, low, high)}});
    cases.push_back({op, "f32 rank 0", {f32({}, low, high)}});
    cases.push_back({op, "f32 rank 4", {f32({2, 1, 3, 2}, low, high)}});
    cases.push_back({op, "f32 empty", {f32({2, 0, 3}, low, high)}});
    cases.push_back({op, "f32 long", {f32({kLong}, low, high)}});
    cases.push_back({op, "f32 special values", {special_floats()}});
  }
  if (takes(op, dispatch::kIntegers)) {
    cases.push_back({op, "i64", {i64({3, 4})}});
    cases.push_back({op, "i64 rank 0", {i64({})}});
    cases.push_back({op, "i64 empty", {i64({0})}});
    cases.push_back({op, "i64 beyond 2^53", {i64({5}, int64_t{1} << 60, int64_t{1} << 62)}});
  }
  if (takes(op, dispatch::kBools)) {
    cases.push_back({op, "bool", {boolean({3, 4})}});
    cases.push_back({op, "bool rank 0", {boolean({})}});
    cases.push_back({op, "bool empty", {boolean({0, 2})}});
  }
}

/// The x operand lies in [low, high), the y operand in [y_low, y_high).
void binary(OpCases& cases, const std::string& op, double low = -2.0, double high = 2.0,
            double y_low = -2.0, double y_high = 2.0) {
  if (takes(op, dispatch::kFloats)) {
    cases.push_back({op, "f32", {f32({3, 4}, low, high), f32({3, 4}, y_low, y_high)}});
    cases.push_back({op, "f32 rank 0", {f32({}, low, high), f32({}, y_low, y_high)}});
    cases.push_back({op, "f32 column by row", {f32({3, 1}, low, high), f32({4}, y_low, y_high)}});
    cases.push_back(
        {op, "f32 scalar on the left", {f32({}, low, high), f32({2, 3}, y_low, y_high)}});
    cases.push_back(
        {op, "f32 middle axis", {f32({2, 1, 3}, low, high), f32({2, 4, 1}, y_low, y_high)}});
    cases.push_back(
        {op, "f32 empty against one", {f32({0, 3}, low, high), f32({1, 3}, y_low, y_high)}});
    cases.push_back({op, "f32 long", {f32({kLong}, low, high), f32({kLong}, y_low, y_high)}});
    Input column = special_floats();
    column.spec.shape = {kSpecialCount, 1};
    cases.push_back({op, "f32 special values", {column, special_floats()}});
  }
  if (takes(op, dispatch::kIntegers)) {
    // A negative power of an integer is none, and nothing divides by 0.
    const int64_t smallest = divides(op) ? 1 : op == "pow" ? 0 : -9;
    cases.push_back({op, "i64", {i64({3, 4}), i64({3, 4}, smallest)}});
    cases.push_back({op, "i64 column by row", {i64({3, 1}), i64({4}, smallest)}});
    cases.push_back({op, "i64 rank 0", {i64({}), i64({}, smallest)}});
    cases.push_back({op, "i64 equal ones", {i64({40}, 0, 2), i64({40}, divides(op) ? 1 : 0, 2)}});
    cases.push_back(
        {op, "i64 wraps", {i64({6}, int64_t{1} << 61, int64_t{1} << 62), i64({6}, 1, 4)}});
  }
  if (takes(op, dispatch::kBools)) {
    cases.push_back({op, "bool", {boolean({3, 4}), boolean({3, 4})}});
    cases.push_back({op, "bool column by row", {boolean({3, 1}), boolean({4})}});
    cases.push_back({op, "bool empty", {boolean({0}), boolean({})}});
  }
}

void add_polygamma(OpCases& cases) {
  using dispatch::OrderAttrs;
  const std::string op = "polygamma";
  for (const int64_t order : {0, 1, 2, 5}) {
    const std::string name = "f32 of order " + std::to_string(order);
    const double lowest = order == 5 ? 1.5 : 0.5;  // the gradient is to fit f16
    cases.push_back({op, name, {f32({3, 4}, lowest, 5.0)}, OrderAttrs{order}});
    cases.push_back(
        {op, name + ", negative", {listed({4}, {-0.5, -1.25, -7.75, -30.5})}, OrderAttrs{order}});
    cases.push_back({op, name + ", special values", {special_floats()}, OrderAttrs{order}});
  }
  cases.push_back({op, "f32 empty", {f32({2, 0})}, OrderAttrs{1}});
  cases.push_back({op, "f32 rank 0", {f32({}, 0.5, 5.0)}, OrderAttrs{1}});
}

void add_where(OpCases& cases) {
  cases.push_back({"where", "f32", {boolean({3, 4}), f32({3, 4}), f32({3, 4})}});
  cases.push_back({"where", "f32 broadcasting", {boolean({3, 1}), f32({4}), f32({2, 1, 1})}});
  cases.push_back({"where", "f32 rank 0", {boolean({}), f32({}), f32({})}});
  cases.push_back({"where", "f32 empty", {boolean({0}), f32({1}), f32({})}});
  cases.push_back({"where", "f32 special values", {boolean({14}), special_floats(), f32({})}});
  cases.push_back({"where", "f32 long", {boolean({kLong}), f32({kLong}), f32({kLong})}});
  cases.push_back({"where", "i64", {boolean({5}), i64({5}), i64({5})}});
  cases.push_back({"where", "bool", {boolean({5}), boolean({5}), boolean({1})}});
}

void add_casts(OpCases& cases) {
  constexpr DType kTargets[] = {
#define DTYPE(number, enumerator, ...) DType::enumerator,
#include "dispatch/dtypes.def"
#undef DTYPE
  };
  for (const DType to : kTargets) {
    const DTypeAttrs attrs{to};
    const std::string suffix = " to " + std::string(dtype_name(to));
    cases.push_back({"astype", "f32" + suffix, {f32({3, 5}, -3.0, 3.0)}, attrs});
    cases.push_back({"astype", "f32 special values" + suffix, {special_floats()}, attrs});
    cases.push_back({"astype", "i64" + suffix, {i64({3, 5})}, attrs});
    cases.push_back({"astype",
                     "i64 beyond 2^24" + suffix,
                     {i64({9}, -(int64_t{1} << 40), int64_t{1} << 40)},
                     attrs});
    cases.push_back({"astype", "f32 out of range" + suffix, {f32({40}, -1e10, 1e10)}, attrs});
    cases.push_back({"astype",
                     "i64 beyond 2^53" + suffix,
                     {i64({40}, -(int64_t{1} << 62), int64_t{1} << 62)},
                     attrs});
    cases.push_back({"astype", "bool" + suffix, {boolean({3, 5})}, attrs});
    cases.push_back({"astype", "empty" + suffix, {f32({0, 2})}, attrs});
    cases.push_back({"astype", "rank 0" + suffix, {i64({})}, attrs});
  }
}

}  // namespace

void add_elementwise_cases(OpCases& cases) {
  unary(cases, "neg");
  unary(cases, "abs");
  unary(cases, "sign");
  unary(cases, "sqrt", 0.1, 9.0);
  unary(cases, "rsqrt", 0.1, 9.0);
  unary(cases, "exp");
  unary(cases, "log", 0.1, 9.0);
  unary(cases, "sin", -9.0, 9.0);
  unary(cases, "cos", -9.0, 9.0);
  unary(cases, "tanh", -4.0, 4.0);
  unary(cases, "sigmoid", -9.0, 9.0);
  unary(cases, "relu");
  unary(cases, "floor", -5.0, 5.0);
  unary(cases, "erf", -4.0, 4.0);
  unary(cases, "logical_not");
  unary(cases, "reciprocal", 0.2, 3.0);
  unary(cases, "square");
  unary(cases, "log1p", -0.9, 3.0);
  unary(cases, "cbrt", 0.1, 9.0);
  unary(cases, "expm1", -3.0, 3.0);
  unary(cases, "asin", -0.9, 0.9);
  unary(cases, "acos", -0.9, 0.9);
  unary(cases, "atan", -9.0, 9.0);
  unary(cases, "sinh", -4.0, 4.0);
  unary(cases, "cosh", -4.0, 4.0);
  unary(cases, "asinh", -9.0, 9.0);
  unary(cases, "acosh", 1.2, 9.0);
  unary(cases, "atanh", -0.9, 0.9);
  unary(cases, "tan", -1.2, 1.2);
  unary(cases, "exp2", -9.0, 3.0);
  unary(cases, "log2", 0.1, 9.0);
  unary(cases, "log10", 0.1, 9.0);
  unary(cases, "ceil", -5.0, 5.0);
  unary(cases, "round", -5.0, 5.0);
  unary(cases, "trunc", -5.0, 5.0);
  unary(cases, "erfc", -3.0, 3.0);
  unary(cases, "erfinv", -0.9, 0.9);
  unary(cases, "lgamma", 0.3, 6.0);
  unary(cases, "digamma", 0.3, 6.0);
  unary(cases, "bitwise_not");
  cases.push_back({"cbrt", "f32 negative", {listed({4}, {-27.0, -1.5, -1e-30, -1e30})}});
  cases.push_back({"exp2", "f32 far apart", {f32({200}, -150.0, 130.0)}});
  cases.push_back({"log2", "f32 far apart", {f32({200}, 1e-38, 1e38)}});
  cases.push_back({"log2", "f32 near 1", {f32({200}, 0.9, 1.1)}});
  cases.push_back({"erfc", "f32 far out", {f32({200}, 3.0, 10.0)}});
  cases.push_back({"lgamma", "f32 negative", {listed({4}, {-0.5, -1.25, -7.75, -30.5})}});
  cases.push_back({"digamma", "f32 negative", {listed({4}, {-0.5, -1.25, -7.75, -300.5})}});
  cases.push_back({"round", "f32 halves", {listed({6}, {0.5, 1.5, 2.5, -0.5, -1.5, -0.25})}});
  add_polygamma(cases);
  binary(cases, "atan2");
  binary(cases, "copysign");
  binary(cases, "hypot");
  binary(cases, "fmax");
  binary(cases, "fmin");
  binary(cases, "logaddexp", -9.0, 9.0, -9.0, 9.0);
  binary(cases, "xlogy", -2.0, 2.0, 0.2, 9.0);
  for (const char* op : {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
                         "bitwise_right_shift", "gcd", "lcm"}) {
    binary(cases, op);
    cases.push_back({op, "i64 empty", {i64({0, 3}), i64({1, 3})}});
    cases.push_back({op, "i64 far apart", {i64({40}, -(int64_t{1} << 62)), i64({40}, 0, 70)}});
  }
  binary(cases, "add");
  binary(cases, "sub");
  binary(cases, "maximum");
  binary(cases, "minimum");
  binary(cases, "mul");
  binary(cases, "div");
  binary(cases, "pow", 0.2, 3.0);
  for (const char* op : {"fmod", "remainder", "floor_divide"}) {
    binary(cases, op, -9.0, 9.0, 0.5, 2.0);  // small divisors: a step of the quotient everywhere
    cases.push_back({op, "f32 negative divisors", {f32({40}, -5.0, 5.0), f32({40}, -2.0, -0.5)}});
    cases.push_back({op, "i64 negative divisors", {i64({40}), i64({40}, -4, 0)}});
    cases.push_back({op,
                     "i64 the lowest by -1",
                     {listed({2}, {-0x1p63, 5}, DType::kI64), listed({1}, {-1}, DType::kI64)}});
    cases.push_back({op, "f32 large quotients", {f32({200}, 1e9, 1e12), f32({200}, 0.5, 9.0)}});
  }
  binary(cases, "equal");
  binary(cases, "not_equal");
  binary(cases, "less");
  binary(cases, "less_equal");
  binary(cases, "greater");
  binary(cases, "greater_equal");
  binary(cases, "logical_and");
  binary(cases, "logical_or");
  add_where(cases);
  add_casts(cases);
}

}  // namespace remora::test
