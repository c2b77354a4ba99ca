#include "kernels/cpu/elementwise.h"

#define UNARY(...)
#define TERNARY(...)
#define OP(...)
#define FAST(...)

namespace remora::cpu {
namespace {

#define BINARY(number, name, expression, dtypes, result, doc) \
  struct name##_expression {                                  \
    template <typename T>                                     \
    static auto apply(T x, T y) {                             \
      return expression;                                      \
    }                                                         \
  };                                                          \
  template <typename T>                                       \
  using name##_loop = BinaryLoop<name##_expression, T, Result::result>;
#include "dispatch/ops.def"
#undef BINARY

}  // namespace

namespace kernels {

#define BINARY(number, name, expression, dtypes, result, doc)                      \
  absl::Status name(const KernelCall& call) {                                      \
    return run_elementwise<name##_loop, dispatch::dtypes>(call, call.in(0).dtype); \
  }
#include "dispatch/ops.def"
#undef BINARY

}  // namespace kernels
}  // namespace remora::cpu
