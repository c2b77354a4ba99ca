#include "kernels/cpu/elementwise.h"

#define UNARY(...)
#define BINARY(...)
#define OP(...)
#define FAST(...)

namespace remora::cpu {
namespace {

#define TERNARY(number, name, expression, dtypes, result, doc) \
  struct name##_expression {                                   \
    template <typename T>                                      \
    static auto apply(bool c, T x, T y) {                      \
      return expression;                                       \
    }                                                          \
  };                                                           \
  template <typename T>                                        \
  using name##_loop = TernaryLoop<name##_expression, T>;
#include "dispatch/ops.def"
#undef TERNARY

}  // namespace

ElementLoop ternary_loop(dispatch::OpCode code, DType dtype) {
  switch (code) {
#define TERNARY(number, name, expression, dtypes, result, doc) \
  case dispatch::OpCode::name:                                 \
    return element_loop<name##_loop, dispatch::dtypes>(dtype);
#include "dispatch/ops.def"
#undef TERNARY
    default:
      return nullptr;
  }
}

namespace kernels {

#define TERNARY(number, name, expression, dtypes, result, doc)                                   \
  absl::Status name(const KernelCall& call) {                                                    \
    return run_elementwise(call, element_loop<name##_loop, dispatch::dtypes>(call.in(1).dtype)); \
  }
#include "dispatch/ops.def"
#undef TERNARY

}  // namespace kernels
}  // namespace remora::cpu
