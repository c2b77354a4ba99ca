#include "tests/op_cases/op_case.h"

#include <algorithm>
#include <stdexcept>

namespace remora::test {

using dispatch::OpInfo;
using dispatch::OpKind;

const OpInfo& OpCase::info() const {
  const OpInfo* found = dispatch::find_op(op);
  if (found == nullptr) throw std::logic_error("op case: the catalogue has no row '" + op + "'");
  return *found;
}

reference::Arrays OpCase::make_inputs() const {
  reference::Arrays arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arrays.push_back(generate(inputs[i], seed_of(op, name) + i));
  }
  return arrays;
}

const OpCases& op_cases() {
  static const OpCases kCases = [] {
    OpCases cases;
    add_elementwise_cases(cases);
    add_creation_cases(cases);
    add_reduction_cases(cases);
    add_shape_cases(cases);
    add_indexing_cases(cases);
    add_contraction_cases(cases);
    add_order_cases(cases);
    add_linalg_cases(cases);
    return cases;
  }();
  return kCases;
}

namespace {

/// An elementwise row's bound follows from its expression: what it calls, and how often it rounds.
Tolerance elementwise_tolerance(std::string_view expression) {
  const auto mentions = [&](std::string_view part) {
    return expression.find(part) != std::string_view::npos;
  };
  bool transcendental = false;
  for (const char* function :
       {"r_exp", "r_log", "r_sin", "r_cos", "r_tan", "r_erf", "r_pow", "r_asin", "r_acos", "r_atan",
        "r_acosh", "r_hypot", "r_lgamma", "r_digamma", "r_xlogy"}) {
    transcendental |= mentions(function);
  }
  if (transcendental) return {.ulps = mentions("/") ? 8.0 : 4.0};
  return {.ulps = mentions("r_sqrt") && mentions("/") ? 2.0 : 0.0};
}

}  // namespace

namespace {

bool is_linear_algebra(dispatch::OpCode code) {
  using dispatch::OpCode;
  constexpr OpCode kRows[] = {OpCode::cholesky,  OpCode::solve_triangular,
                              OpCode::lu_factor, OpCode::qr,
                              OpCode::eigh,      OpCode::svd,
                              OpCode::solve,     OpCode::det,
                              OpCode::pinv};
  return std::ranges::find(kRows, code) != std::end(kRows);
}

}  // namespace

Tolerance tolerance_of(const OpInfo& info) {
  constexpr double kSumError = 1e-5;
  switch (info.kind) {
    case OpKind::kUnary:
      if (info.code == dispatch::OpCode::polygamma) return {.ulps = 4.0};
      return elementwise_tolerance(info.expression);
    case OpKind::kBinary:
    case OpKind::kTernary:
      return elementwise_tolerance(info.expression);
    case OpKind::kContraction:
      // The cases' matrices are well conditioned, with elements near 1.
      if (is_linear_algebra(info.code)) return {.ulps = 64.0, .absolute = 2e-5};
      return {.relative = kSumError};
    case OpKind::kComposite:
      return {.relative = kSumError};
    case OpKind::kReduction:
    case OpKind::kIndexing:
      return {.relative =
                  info.dtypes == dispatch::kNumbers ? kSumError : 0.0};  // the rows that add
    case OpKind::kCreation:
      // Box-Muller: the error of an f32 angle times a radius of at most 6.
      return {.absolute = info.code == dispatch::OpCode::normal ? 4e-6 : 0.0};
    case OpKind::kCast:
    case OpKind::kShape:
    case OpKind::kPooling:
      return {};
  }
  return {};
}

}  // namespace remora::test
