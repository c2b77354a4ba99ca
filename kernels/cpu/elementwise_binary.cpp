#include "dispatch/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/strided.h"

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

/// The error of the first integer divisor, in row-major order, that is 0. Where the other operand
/// is empty nothing is divided.
absl::Status divisor_error(dispatch::OpCode code, const KernelCall& call) {
  const TensorView& y = call.in(1);
  if (is_float(y.dtype) || call.out().numel() == 0) return absl::OkStatus();
  const auto nest = broadcast_nest<1>(y.sizes, {&y});
  const int64_t stride = nest.inner_strides()[0];
  int64_t first = nest.numel;
  (void)with_bits(y.dtype, [&]<typename T>() {
    for_rows(nest, 0, nest.numel, [&](const auto& offsets, int64_t position, int64_t count) {
      for (int64_t i = 0; i < count && first == nest.numel; ++i) {
        if (y.as<const T>()[offsets[0] + i * stride] == 0) first = position + i;
      }
    });
    return absl::OkStatus();
  });
  if (first == nest.numel) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat(dispatch::op_name(code), ": element ", first,
                                            " of the divisor is 0; an integer of ",
                                            dtype_name(y.dtype), " has no quotient by 0"));
}

}  // namespace

ElementLoop binary_loop(dispatch::OpCode code, DType dtype) {
  switch (code) {
#define BINARY(number, name, expression, dtypes, result, doc) \
  case dispatch::OpCode::name:                                \
    return element_loop<name##_loop, dispatch::dtypes>(dtype);
#include "dispatch/ops.def"
#undef BINARY
    default:
      return nullptr;
  }
}

namespace kernels {

#define BINARY(number, name, expression, dtypes, result, doc)                        \
  absl::Status name(const KernelCall& call) {                                        \
    const auto loop = element_loop<name##_loop, dispatch::dtypes>(call.in(0).dtype); \
    const absl::Status status = run_elementwise(call, loop);                         \
    if (!divides(dispatch::OpCode::name)) return status;                             \
    return status.ok() ? divisor_error(dispatch::OpCode::name, call) : status;       \
  }
#include "dispatch/ops.def"
#undef BINARY

}  // namespace kernels
}  // namespace remora::cpu
