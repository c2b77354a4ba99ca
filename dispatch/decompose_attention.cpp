// Attention and its gradients of primitives, for devices without a kernel: the whole matrix of
// scores is in memory, which the kernels avoid.
#include <limits>

#include "dispatch/decompositions.h"
#include "dispatch/submit.h"

namespace remora::dispatch {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

Value op(OpCode code, std::initializer_list<Value> operands, const Attrs& attrs = NoAttrs{}) {
  return submit(code, {operands.begin(), operands.size()}, attrs)[0];
}

Value number(const Value& like, double value) {
  const FullAttrs attrs{like->spec().dtype, {}, value};
  const Device device = like->device().device();
  return submit(OpCode::full, {}, attrs, &device)[0];
}

const Shape& shape_of(const Value& x) { return x->spec().shape; }

Value reshaped(const Value& x, const Shape& shape) {
  return op(OpCode::reshape, {x}, ShapeAttrs{shape});
}

Value transposed(const Value& x) { return op(OpCode::permute, {x}, PermuteAttrs{{0, 1, 3, 2}}); }

Value last_axis(OpCode code, const Value& x) {
  return op(code, {x}, ReduceAttrs{.axes = {3}, .keepdims = true});
}

/// Each head of [N, H, ..] `group` times: [N, G H, ..].
Value repeated(const Value& x, int64_t group) {
  if (group == 1) return x;
  const Shape& s = shape_of(x);
  const Value column = reshaped(x, {s[0], s[1], 1, s[2], s[3]});
  const Value wide =
      op(OpCode::broadcast_to, {column}, ShapeAttrs{{s[0], s[1], group, s[2], s[3]}});
  return reshaped(wide, {s[0], s[1] * group, s[2], s[3]});
}

/// The adjoint of `repeated`.
Value sum_over_group(const Value& x, int64_t group) {
  if (group == 1) return x;
  const Shape& s = shape_of(x);
  const Value split = reshaped(x, {s[0], s[1] / group, group, s[2], s[3]});
  return op(OpCode::sum, {split}, ReduceAttrs{.axes = {2}, .keepdims = false});
}

/// bool [L, S]: query i sees key j for j <= i.
Value causal_mask(const Value& scores) {
  const Device device = scores->device().device();
  const auto counted = [&](int64_t count) {
    return submit(OpCode::arange, {}, ArangeAttrs{DType::kI64, count, 0, 1}, &device)[0];
  };
  const Shape& s = shape_of(scores);
  return op(OpCode::greater_equal, {reshaped(counted(s[2]), {s[2], 1}), counted(s[3])});
}

/// What the two rows share: operands with as many heads as the query has, and the masked scores.
struct Parts {
  int64_t group;
  Value q, k, v, scores;

  Parts(std::span<const Value> operands, const AttentionAttrs& attrs)
      : group(shape_of(operands[1])[1] == 0 ? 1
                                            : shape_of(operands[0])[1] / shape_of(operands[1])[1]),
        q(operands[0]),
        k(repeated(operands[1], group)),
        v(repeated(operands[2], group)) {
    const Value scale = number(q, attrs.scale.as_double());
    scores = op(OpCode::mul, {op(OpCode::matmul, {q, transposed(k)}), scale});
    const auto keep = [&](const Value& seen) {
      scores = op(OpCode::where, {seen, scores, number(scores, kMasked)});
    };
    if (attrs.causal) keep(causal_mask(scores));
    if (operands.size() < 4) return;
    if (operands[3]->spec().dtype == DType::kBool) {
      keep(operands[3]);
    } else {
      scores = op(OpCode::add, {scores, operands[3]});
    }
  }
};

/// The row in f32 for 16-bit operands: it rounds once, as a kernel does. Empty if there are none.
Values in_f32(OpCode code, std::span<const Value> inputs, const Attrs& attrs, size_t rounded) {
  const DType dtype = inputs[0]->spec().dtype;
  if (!is_half(dtype)) return {};
  Values wide;
  for (const Value& input : inputs) {
    const bool half = input->spec().dtype == dtype;
    wide.push_back(half ? op(OpCode::astype, {input}, DTypeAttrs{DType::kF32}) : input);
  }
  Values results = submit(code, wide, attrs);
  for (size_t i = 0; i < rounded; ++i) {
    results[i] = op(OpCode::astype, {results[i]}, DTypeAttrs{dtype});
  }
  return results;
}

}  // namespace

Values decompose_attention(std::span<const Value> inputs, const Attrs& attrs) {
  if (Values results = in_f32(OpCode::attention, inputs, attrs, 1); !results.empty()) {
    return results;
  }
  const Parts parts(inputs, std::get<AttentionAttrs>(attrs));
  const Value& scores = parts.scores;
  const Shape& s = shape_of(scores);
  const Value zero = number(scores, 0.0);
  if (s[3] == 0) {  // nothing to see
    const Shape& v = shape_of(parts.v);
    return {op(OpCode::broadcast_to, {zero}, ShapeAttrs{{s[0], s[1], s[2], v[3]}}),
            op(OpCode::broadcast_to, {number(scores, -kMasked)}, ShapeAttrs{{s[0], s[1], s[2]}})};
  }
  // A row that sees nothing has the maximum -inf, the sum 0, and is to give zeros.
  const Value maximum = last_axis(OpCode::amax, scores);
  const Value masked = op(OpCode::equal, {maximum, number(scores, kMasked)});
  const Value shift = op(OpCode::where, {masked, zero, maximum});
  const Value powers = op(OpCode::exp, {op(OpCode::sub, {scores, shift})});
  const Value sums = last_axis(OpCode::sum, powers);
  const Value divisor = op(OpCode::where, {masked, number(scores, 1.0), sums});
  const Value logsumexp = op(OpCode::add, {shift, op(OpCode::log, {divisor})});
  const Value logsumexp_or_infinity =
      op(OpCode::where, {masked, number(scores, -kMasked), logsumexp});
  const Value quotient = op(OpCode::div, {op(OpCode::matmul, {powers, parts.v}), divisor});
  return {op(OpCode::where, {masked, zero, quotient}),
          reshaped(logsumexp_or_infinity, {s[0], s[1], s[2]})};
}

Values decompose_attention_grad(std::span<const Value> inputs, const Attrs& attrs) {
  if (Values results = in_f32(OpCode::attention_grad, inputs, attrs, 3); !results.empty()) {
    return results;
  }
  const AttentionAttrs& attention = std::get<AttentionAttrs>(attrs);
  const Value& g = inputs[0];
  const Parts parts(inputs.subspan(3), attention);
  const Shape& s = shape_of(parts.scores);
  const Value delta = reshaped(inputs[1], {s[0], s[1], s[2], 1});
  const Value logsumexp = reshaped(inputs[2], {s[0], s[1], s[2], 1});
  const Value weights = op(OpCode::exp, {op(OpCode::sub, {parts.scores, logsumexp})});
  const Value weight_grad = op(OpCode::matmul, {g, transposed(parts.v)});
  const Value score_grad = op(OpCode::mul, {weights, op(OpCode::sub, {weight_grad, delta})});
  const Value scaled = op(OpCode::mul, {score_grad, number(g, attention.scale.as_double())});
  return {op(OpCode::matmul, {scaled, parts.k}),
          sum_over_group(op(OpCode::matmul, {transposed(scaled), parts.q}), parts.group),
          sum_over_group(op(OpCode::matmul, {transposed(weights), g}), parts.group)};
}

}  // namespace remora::dispatch
