// Compiled once for each SIMD level, with REMORA_KERNEL_TABLE as the accessor's name.
#include "kernels/cpu/kernel_table.h"

#include "kernels/cpu/attention.h"
#include "kernels/cpu/conv2d.h"
#include "kernels/cpu/fft.h"
#include "kernels/cpu/in_f32.h"
#include "kernels/cpu/lapack.h"
#include "kernels/cpu/order.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

Kernel find_kernel(dispatch::OpCode code) {
  switch (code) {
#define ROW(name)              \
  case dispatch::OpCode::name: \
    return kernels::name;
#define UNARY(number, name, ...) ROW(name)
#define BINARY(number, name, ...) ROW(name)
#define TERNARY(number, name, ...) ROW(name)
#define OP(number, name, ...) ROW(name)
#define FAST(number, name, ...) ROW(name)
#include "dispatch/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
#undef ROW
  }
  return nullptr;
}

int64_t scratch_bytes(const dispatch::OpInfo& info, std::span<const Spec> inputs,
                      std::span<const Spec> outputs, const dispatch::Attrs& attrs, int threads) {
  if (computes_in_f32(info, dispatch::op_dtype(info, inputs, outputs))) {
    absl::InlinedVector<Spec, 4> wide_inputs, wide_outputs;
    for (const Spec& spec : inputs) wide_inputs.push_back(in_f32(spec));
    for (const Spec& spec : outputs) wide_outputs.push_back(in_f32(spec));
    return in_f32_scratch_bytes(inputs, outputs) +
           scratch_bytes(info, wide_inputs, wide_outputs, attrs, threads);
  }
  switch (info.code) {
    case dispatch::OpCode::sum:
    case dispatch::OpCode::amax:
    case dispatch::OpCode::amin:
    case dispatch::OpCode::prod:
      return reduce_scratch_bytes(inputs[0].numel(), outputs[0].numel());
    case dispatch::OpCode::conv2d:
    case dispatch::OpCode::conv2d_input_grad:
    case dispatch::OpCode::conv2d_weight_grad:
      return conv2d_scratch_bytes(info.code, inputs, outputs, attrs, threads);
    case dispatch::OpCode::cumsum:
    case dispatch::OpCode::cumprod:
    case dispatch::OpCode::cummax:
    case dispatch::OpCode::cummin:
      return scan_scratch_bytes(inputs[0], std::get<dispatch::AxisAttrs>(attrs).axis);
    case dispatch::OpCode::sort:
      return sort_scratch_bytes(inputs[0], std::get<dispatch::SortAttrs>(attrs).axis, threads);
    case dispatch::OpCode::attention:
    case dispatch::OpCode::attention_grad:
      return attention_scratch_bytes(info.code, inputs, threads);
    case dispatch::OpCode::fft:
      return fft_scratch_bytes(inputs[0], threads);
    case dispatch::OpCode::cholesky:
    case dispatch::OpCode::solve_triangular:
    case dispatch::OpCode::lu_factor:
    case dispatch::OpCode::qr:
    case dispatch::OpCode::eigh:
    case dispatch::OpCode::svd:
    case dispatch::OpCode::pinv:
    case dispatch::OpCode::solve:
    case dispatch::OpCode::det:
      return linalg_scratch_bytes(info.code, inputs, attrs, threads);
    default:
      return 0;
  }
}

constexpr KernelTable kTable = {find_kernel, run_in_f32,   fusible_loop,
                                run_fused,   copy_strided, scratch_bytes};

}  // namespace

const KernelTable& REMORA_KERNEL_TABLE();
const KernelTable& REMORA_KERNEL_TABLE() { return kTable; }

}  // namespace remora::cpu
