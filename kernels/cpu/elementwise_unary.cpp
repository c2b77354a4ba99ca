#include "kernels/cpu/elementwise.h"

#define BINARY(...)
#define TERNARY(...)
#define OP(...)
#define FAST(...)

namespace remora::cpu {
namespace {

#define UNARY(number, name, expression, dtypes, result, doc) \
  struct name##_expression {                                 \
    template <typename T>                                    \
    static auto apply(T x) {                                 \
      return expression;                                     \
    }                                                        \
  };                                                         \
  template <typename T>                                      \
  using name##_loop = UnaryLoop<name##_expression, T, Result::result>;
#include "dispatch/ops.def"
#undef UNARY

}  // namespace

template <>
inline constexpr bool kTakesAngles<sin_expression> = true;
template <>
inline constexpr bool kTakesAngles<cos_expression> = true;
template <>
inline constexpr bool kTakesAngles<tan_expression> = true;

ElementLoop unary_loop(dispatch::OpCode code, DType dtype) {
  switch (code) {
#define UNARY(number, name, expression, dtypes, result, doc) \
  case dispatch::OpCode::name:                               \
    return element_loop<name##_loop, dispatch::dtypes>(dtype);
#include "dispatch/ops.def"
#undef UNARY
    default:
      return nullptr;
  }
}

namespace kernels {

#define UNARY(number, name, expression, dtypes, result, doc)                                     \
  absl::Status name(const KernelCall& call) {                                                    \
    return run_elementwise(call, element_loop<name##_loop, dispatch::dtypes>(call.in(0).dtype)); \
  }
#include "dispatch/ops.def"
#undef UNARY

}  // namespace kernels
}  // namespace remora::cpu
