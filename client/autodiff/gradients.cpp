// One gradient rule for each row of ops.def, in its order. A row without a rule does not compile.
//
// In the one-line rules: g is the cotangent, x and y the inputs, r the result. An input or result
// may be used only if the rule saves it. Where numerics leave a choice (ties, 0, NaN) the rule's
// comment says what was chosen.
#include "client/autodiff/gradients.h"

#include <cmath>
#include <numbers>

#include "client/autodiff/attention_rule.h"
#include "client/autodiff/linalg_rules.h"
#include "client/autodiff/node.h"
#include "client/autodiff/recomputation.h"
#include "client/autodiff/rule_parts.h"
#include "client/autodiff/scan_rules.h"
#include "client/ops.h"

namespace remora::autodiff {

Tensor RuleContext::tensor_of(const Saved& saved, const Edge& edge) const {
  dispatch::Value value = saved.use ? recomputation_.value_of(*saved.use.get()) : saved.value;
  if (!value) return {};
  if (!grad_enabled()) return Tensor(std::move(value));
  return Tensor(std::move(value), node_->context(), edge, saved.use.get());
}

Tensor RuleContext::input(size_t index) const {
  return tensor_of(kept_.saved_inputs[index], kept_.edges[index]);
}

Tensor RuleContext::output(size_t index) const {
  const bool differentiable = is_float(node_->output_specs()[index].dtype);
  return tensor_of(kept_.saved_outputs[index],
                   differentiable ? Edge{node_, static_cast<uint32_t>(index)} : Edge{});
}

const Spec& RuleContext::input_spec(size_t index) const { return node_->input_specs()[index]; }

const dispatch::Attrs& RuleContext::any_attrs() const { return node_->attrs(); }

namespace {

using dispatch::OpCode;

/// kOther: both inputs, each for the other's gradient alone.
enum Saves : uint32_t {
  kNothing = 0,
  kX = 1,
  kY = 2,
  kXY = 3,
  kBilinear = 1u << 30,
  kOther = kXY | kBilinear,
  kResult = 1u << 31
};

/// The rule of a row; only its specialisations exist.
template <OpCode code>
struct Rule;

constexpr GradientRule make_rule(uint32_t saves, Gradients (*backward)(const RuleContext&)) {
  return {saves & ~(kResult | kBilinear), (saves & kResult) != 0 ? 1u : 0u, backward,
          (saves & kBilinear) != 0};
}

#define UNARY_RULE(op, saves, expression)                                       \
  template <>                                                                   \
  struct Rule<OpCode::op> {                                                     \
    static Gradients backward(const RuleContext& context) {                     \
      [[maybe_unused]] const Tensor& g = context.cotangent();                   \
      [[maybe_unused]] const Tensor x = context.input(0), r = context.output(); \
      return {expression};                                                      \
    }                                                                           \
    static constexpr GradientRule kRule = make_rule(saves, backward);           \
  };

/// Each gradient is computed only if it is wanted, and summed over the axes that were broadcast.
#define BINARY_RULE(op, saves, by_x, by_y)                                                 \
  template <>                                                                              \
  struct Rule<OpCode::op> {                                                                \
    static Gradients backward(const RuleContext& context) {                                \
      [[maybe_unused]] const Tensor& g = context.cotangent();                              \
      [[maybe_unused]] const Tensor x = context.input(0), y = context.input(1),            \
                                    r = context.output();                                  \
      Gradients gradients(2);                                                              \
      if (context.needs(0)) gradients[0] = sum_to_size(by_x, context.input_spec(0).shape); \
      if (context.needs(1)) gradients[1] = sum_to_size(by_y, context.input_spec(1).shape); \
      return gradients;                                                                    \
    }                                                                                      \
    static constexpr GradientRule kRule = make_rule(saves, backward);                      \
  };

/// A rule with a function of its own in rule_parts.h.
#define RULE(op, saves, function)                                        \
  template <>                                                            \
  struct Rule<OpCode::op> {                                              \
    static constexpr GradientRule kRule = make_rule(saves, &(function)); \
  };

/// A rule that needs the inputs and outputs whose bits are given.
#define OUTPUTS_RULE(op, inputs, outputs, function)                       \
  template <>                                                             \
  struct Rule<OpCode::op> {                                               \
    static constexpr GradientRule kRule = {inputs, outputs, &(function)}; \
  };

#define kNotDifferentiable(op)                \
  template <>                                 \
  struct Rule<OpCode::op> {                   \
    static constexpr GradientRule kRule = {}; \
  };

// One rule a line; clang-format would fold macros without semicolons into paragraphs.
// clang-format off

// -- creation
kNotDifferentiable(full)
kNotDifferentiable(arange)
kNotDifferentiable(uniform)
kNotDifferentiable(normal)

// -- elementwise, one input
UNARY_RULE(neg, kNothing, -g)
UNARY_RULE(abs, kX, g * sign(x))  // 0 at 0
UNARY_RULE(sign, kNothing, zeros_like(g))
UNARY_RULE(sqrt, kResult, g / (2.0 * r))
UNARY_RULE(rsqrt, kResult, g * -0.5 * (r * r * r))
UNARY_RULE(exp, kResult, g * r)
UNARY_RULE(log, kX, g / x)
UNARY_RULE(sin, kX, g * cos(x))
UNARY_RULE(cos, kX, -(g * sin(x)))
UNARY_RULE(tanh, kResult, g * (1.0 - r * r))
UNARY_RULE(sigmoid, kResult, g * (r * (1.0 - r)))
UNARY_RULE(relu, kResult, where(r <= 0.0, 0.0, g))  // 0 at 0
UNARY_RULE(floor, kNothing, zeros_like(g))
UNARY_RULE(erf, kX, g * (2.0 * std::numbers::inv_sqrtpi) * exp(-(x * x)))
kNotDifferentiable(logical_not)
UNARY_RULE(reciprocal, kResult, -(g * (r * r)))
UNARY_RULE(square, kX, g * (2.0 * x))
UNARY_RULE(log1p, kX, g / (1.0 + x))
UNARY_RULE(cbrt, kResult, g / (r * r * 3.0))
UNARY_RULE(expm1, kResult, g * (r + 1.0))
UNARY_RULE(asin, kX, g * rsqrt((1.0 - x) * (1.0 + x)))
UNARY_RULE(acos, kX, -(g * rsqrt((1.0 - x) * (1.0 + x))))
UNARY_RULE(atan, kX, g / (1.0 + x * x))
UNARY_RULE(sinh, kX, g * cosh(x))
UNARY_RULE(cosh, kX, g * sinh(x))
UNARY_RULE(asinh, kX, g * rsqrt(x * x + 1.0))
UNARY_RULE(acosh, kX, g * rsqrt((x - 1.0) * (x + 1.0)))
UNARY_RULE(atanh, kX, g / ((1.0 - x) * (1.0 + x)))
UNARY_RULE(tan, kResult, g * (1.0 + r * r))
UNARY_RULE(exp2, kResult, g * (r * std::numbers::ln2))
UNARY_RULE(log2, kX, g / (x * std::numbers::ln2))
UNARY_RULE(log10, kX, g / (x * std::numbers::ln10))
UNARY_RULE(ceil, kNothing, zeros_like(g))
UNARY_RULE(round, kNothing, zeros_like(g))
UNARY_RULE(trunc, kNothing, zeros_like(g))
UNARY_RULE(erfc, kX, g * (-2.0 * std::numbers::inv_sqrtpi) * exp(-(x * x)))
UNARY_RULE(erfinv, kResult, g * (0.5 / std::numbers::inv_sqrtpi) * exp(r * r))
UNARY_RULE(lgamma, kX, g * digamma(x))
UNARY_RULE(digamma, kX, g * polygamma(1, x))
RULE(polygamma, kX, polygamma_rule)
kNotDifferentiable(bitwise_not)

// -- elementwise, two inputs
BINARY_RULE(add, kNothing, g, g)
BINARY_RULE(sub, kNothing, g, -g)
BINARY_RULE(maximum, kXY, larger_share(g, x, y), larger_share(g, y, x))  // half each at a tie
BINARY_RULE(minimum, kXY, larger_share(g, y, x), larger_share(g, x, y))
BINARY_RULE(mul, kOther, g * y, g * x)
BINARY_RULE(div, kXY, g / y, -(g * ((x / y) / y)))
BINARY_RULE(pow, kXY, pow_by_base(g, x, y), pow_by_exponent(g, x, y))
kNotDifferentiable(equal)
kNotDifferentiable(not_equal)
kNotDifferentiable(less)
kNotDifferentiable(less_equal)
kNotDifferentiable(greater)
kNotDifferentiable(greater_equal)
kNotDifferentiable(logical_and)
kNotDifferentiable(logical_or)
BINARY_RULE(fmod, kXY, g, -(g * trunc(x / y)))  // the quotient counts as constant at its steps
BINARY_RULE(remainder, kXY, g, -(g * floor(x / y)))
BINARY_RULE(floor_divide, kNothing, zeros_like(g), zeros_like(g))
BINARY_RULE(atan2, kXY, atan2_share(g, y, x, y), -atan2_share(g, x, x, y))  // 0 at the origin
BINARY_RULE(copysign, kXY, g * (sign(x) * copysign(1.0, y)), zeros_like(g))  // 0 at 0
BINARY_RULE(hypot, kXY | kResult, hypot_share(g, x, r), hypot_share(g, y, r))  // 0 at the origin
BINARY_RULE(fmax, kXY, fmax_share(g, x, y), fmax_share(g, y, x))  // half each at a tie
BINARY_RULE(fmin, kXY, fmin_share(g, x, y), fmin_share(g, y, x))
BINARY_RULE(logaddexp, kXY, exponential_share(g, x, y), exponential_share(g, y, x))
BINARY_RULE(xlogy, kXY, xlogy_by_x(g, x, y), g * where(x == 0.0, 0.0, x / y))
kNotDifferentiable(bitwise_and)
kNotDifferentiable(bitwise_or)
kNotDifferentiable(bitwise_xor)
kNotDifferentiable(bitwise_left_shift)
kNotDifferentiable(bitwise_right_shift)
kNotDifferentiable(gcd)
kNotDifferentiable(lcm)

// -- elementwise, three inputs
RULE(where, kX, where_rule)

// -- casts
RULE(astype, kNothing, astype_rule)

// -- reductions
RULE(sum, kNothing, sum_rule)
RULE(amax, kX | kResult, amax_rule)  // shared evenly among equals
kNotDifferentiable(argmax)
RULE(prod, kX, prod_rule)  // exact where elements are 0
RULE(amin, kX | kResult, amax_rule)  // likewise
kNotDifferentiable(argmin)

// -- scans and order along one axis
RULE(cumsum, kNothing, cumsum_rule)
RULE(cumprod, kX | kResult, cumprod_rule)  // exact where elements are 0

// -- shape
RULE(reshape, kNothing, reshape_rule)
RULE(permute, kNothing, permute_rule)
RULE(broadcast_to, kNothing, broadcast_to_rule)
RULE(slice, kNothing, slice_rule)
RULE(slice_assign, kNothing, slice_assign_rule)
RULE(concat, kNothing, concat_rule)

// -- indexing
RULE(gather, kY, gather_rule)
RULE(scatter_add, kY, scatter_add_rule)
RULE(scatter, kY, scatter_rule)  // the last of an index wins here too
RULE(scatter_reduce, kX | kY | 4u | kResult, scatter_reduce_rule)  // extremes: shared evenly among equals

// -- contraction
RULE(matmul, kOther, matmul_rule)
RULE(conv2d, kOther, conv2d_rule)
RULE(conv2d_input_grad, kOther, conv2d_input_grad_rule)
RULE(conv2d_weight_grad, kOther, conv2d_weight_grad_rule)

// -- composites with a fast path
RULE(softmax, kResult, softmax_rule)
OUTPUTS_RULE(attention, 15, 3, attention_rule)  // query, key, value, mask; output, sums
kNotDifferentiable(attention_grad)  // attention_rule uses it only where no graph is made

// -- linear algebra
RULE(cholesky, kResult, cholesky_rule)
RULE(solve_triangular, kX | kResult, solve_triangular_rule)
RULE(solve, kX | kResult, solve_rule)
RULE(pinv, kX | kResult, pinv_rule)
RULE(det, kX, det_rule)  // exact for singular matrices

// -- the gradient goes to the selected element, whose index is the second output
RULE(fft, kNothing, fft_rule)
OUTPUTS_RULE(max_pool2d, kNothing, 2, max_pool2d_rule)
OUTPUTS_RULE(cummax, kNothing, 2, selected_rule)
OUTPUTS_RULE(cummin, kNothing, 2, selected_rule)
OUTPUTS_RULE(sort, kNothing, 2, selected_rule)

// -- factorisations: what their factors are known to satisfy
OUTPUTS_RULE(lu_factor, kNothing, 3, lu_factor_rule)
OUTPUTS_RULE(qr, kNothing, 3, qr_rule)
OUTPUTS_RULE(eigh, kNothing, 3, eigh_rule)
OUTPUTS_RULE(svd, kNothing, 7, svd_rule)

// clang-format on

}  // namespace

const GradientRule& gradient_rule(OpCode code) {
  switch (code) {
#define UNARY(number, name, ...) \
  case OpCode::name:             \
    return Rule<OpCode::name>::kRule;
#define BINARY UNARY
#define TERNARY UNARY
#define OP UNARY
#define FAST UNARY
#include "dispatch/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
  }
  static constexpr GradientRule kNone = {};
  return kNone;
}

}  // namespace remora::autodiff
