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

DType OpCase::dtype() const {
  std::vector<Spec> specs;
  for (const Input& input : inputs) specs.push_back(input.spec);
  const auto outputs = dispatch::infer(info(), specs, attrs);
  if (!outputs.ok()) throw std::logic_error(title() + ": " + outputs.status().ToString());
  return dispatch::op_dtype(info(), specs, *outputs);
}

namespace {

/// Elements of an input above which a case runs in its own dtype alone.
constexpr int64_t kMaxRetypedElements = 20'000;

/// The case with every operand and attribute of dtype `from` in `to`; indices stay i64.
OpCase retyped(const OpCase& op_case, DType from, DType to) {
  OpCase result = op_case;
  result.name = std::string(dtype_name(to)) + " as " + op_case.name;
  for (Input& input : result.inputs) {
    const bool kept = input.is_index || (input.is_wide && is_half(to));
    if (input.spec.dtype == from && !kept) input.spec.dtype = to;
  }
  if (result.inputs.empty()) {
    std::visit(
        [&](auto& attrs) {
          if constexpr (requires { attrs.dtype; }) attrs.dtype = to;
        },
        result.attrs);
  }
  return result;
}

void add_every_dtype(OpCases& cases) {
  const size_t written = cases.size();
  for (size_t i = 0; i < written; ++i) {
    const DType from = cases[i].dtype();
    const bool is_long = std::ranges::any_of(cases[i].inputs, [](const Input& input) {
      return input.spec.numel() > kMaxRetypedElements;
    });
    if (is_long || (from != DType::kF32 && from != DType::kI64)) continue;
#define DTYPE(number, enumerator, name, storage, category)                               \
  if (DType::enumerator != from &&                                                       \
      promotion_rank(DTypeCategory::category) == promotion_rank(dtype_category(from))) { \
    cases.push_back(retyped(cases[i], from, DType::enumerator));                         \
  }
#include "dispatch/dtypes.def"
#undef DTYPE
  }
}

}  // namespace

const OpCases& op_cases() {
  static const OpCases kCases = [] {
    OpCases cases;
    add_elementwise_cases(cases);
    add_creation_cases(cases);
    add_reduction_cases(cases);
    add_shape_cases(cases);
    add_indexing_cases(cases);
    add_contraction_cases(cases);
    add_attention_cases(cases);
    add_order_cases(cases);
    add_linalg_cases(cases);
    add_every_dtype(cases);
    return cases;
  }();
  return kCases;
}

namespace {

/// True if every function of the prelude that the expression calls rounds correctly, or is exact.
bool is_exact(std::string_view expression) {
  constexpr std::string_view kExact[] = {
      "r_abs",        "r_max",         "r_min",        "r_fmax",        "r_fmin",
      "r_floor",      "r_ceil",        "r_round",      "r_trunc",       "r_fmod",
      "r_remainder",  "r_copysign",    "r_sqrt",       "r_bitwise_not", "r_bitwise_and",
      "r_bitwise_or", "r_bitwise_xor", "r_left_shift", "r_right_shift", "r_gcd",
      "r_lcm"};
  for (size_t at = 0; (at = expression.find("r_", at)) != std::string_view::npos; ++at) {
    const std::string_view name = expression.substr(at, expression.find('(', at) - at);
    if (std::ranges::find(kExact, name) == std::end(kExact)) return false;
  }
  return true;
}

/// An elementwise row's bound follows from its expression: what it calls, and how often it rounds.
Tolerance elementwise_tolerance(std::string_view expression) {
  const auto mentions = [&](std::string_view part) {
    return expression.find(part) != std::string_view::npos;
  };
  if (mentions("r_floor_divide")) return {.ulps = 2.0};  // above 2^24 the quotient itself rounds
  if (!is_exact(expression)) return {.ulps = mentions("/") ? 8.0 : 4.0};
  return {.ulps = mentions("r_sqrt") && mentions("/") ? 2.0 : 0.0};
}

}  // namespace

Tolerance tolerance_of(const OpInfo& info, DType dtype) {
  const bool wide = dtype == DType::kF64;
  const double sum_error = wide ? 1e-12 : 1e-5;
  switch (info.kind) {
    case OpKind::kUnary:
      // Near their zeros f64's are sums of larger numbers, each with an error of its own.
      if (wide && info.code == dispatch::OpCode::digamma) return {.ulps = 8.0, .absolute = 1e-14};
      if (info.code == dispatch::OpCode::polygamma) {
        return wide ? Tolerance{.ulps = 16.0, .absolute = 1e-13} : Tolerance{.ulps = 4.0};
      }
      return elementwise_tolerance(info.expression);
    case OpKind::kBinary:
    case OpKind::kTernary:
      return elementwise_tolerance(info.expression);
    case OpKind::kLinearAlgebra:  // the cases' matrices are well conditioned, with elements near 1
      return {.ulps = 64.0, .absolute = wide ? 1e-11 : 2e-5};
    case OpKind::kContraction:
      // Its sums cancel, so the bound is that of sums of numbers near 1; it computes in f64.
      if (info.code == dispatch::OpCode::fft) {
        return {.ulps = wide ? 64.0 : 1.0, .absolute = wide ? 1e-12 : 1e-6};
      }
      return {.relative = sum_error};
    case OpKind::kComposite:
      if (info.code != dispatch::OpCode::softmax) {  // attention, of numbers in [-1, 1]
        return {.ulps = 4.0, .absolute = wide ? 1e-12 : 1e-5};
      }
      return {.relative = sum_error};
    case OpKind::kReduction:
    case OpKind::kIndexing:
      return {.relative =
                  info.dtypes == dispatch::kNumbers ? sum_error : 0.0};  // the rows that add
    case OpKind::kCreation:
      // Box-Muller: the error of an f32 angle times a radius of at most 6.
      return {.absolute = info.code != dispatch::OpCode::normal ? 0.0 : wide ? 1e-14 : 4e-6};
    case OpKind::kCast:
    case OpKind::kShape:
    case OpKind::kPooling:
      return {};
  }
  return {};
}

}  // namespace remora::test
