#include "dispatch/decompositions.h"

#include "dispatch/submit.h"

namespace remora::dispatch {

Decomposition find_decomposition(OpCode code) {
  switch (code) {
#define UNARY(...)
#define BINARY(...)
#define TERNARY(...)
#define OP(...)
#define FAST(number, name, inputs, outputs, attrs, rule, decomposition, ...) \
  case OpCode::name:                                                         \
    return &(decomposition);
#include "dispatch/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
    default:
      return nullptr;
  }
}

Values decompose_softmax(std::span<const Value> inputs, const Attrs& attrs) {
  const Value& x = inputs[0];
  const int64_t axis = std::get<AxisAttrs>(attrs).axis;
  if (x->spec().numel() == 0) return {x};  // nothing to normalise, and no maximum to subtract
  if (is_half(x->spec().dtype)) {          // rounds once, as a backend's own softmax does
    const Value wide = submit(OpCode::astype, inputs, DTypeAttrs{DType::kF32})[0];
    const Values result = decompose_softmax(std::span(&wide, 1), attrs);
    return submit(OpCode::astype, result, DTypeAttrs{x->spec().dtype});
  }
  const ReduceAttrs along{.axes = {axis}, .keepdims = true};
  const auto op = [](OpCode code, std::initializer_list<Value> operands,
                     const Attrs& op_attrs = NoAttrs{}) {
    return submit(code, {operands.begin(), operands.size()}, op_attrs)[0];
  };
  const Value shifted = op(OpCode::sub, {x, op(OpCode::amax, {x}, along)});
  const Value powers = op(OpCode::exp, {shifted});
  return {op(OpCode::div, {powers, op(OpCode::sum, {powers}, along)})};
}

}  // namespace remora::dispatch
