#include "kernels/cpu/kernel.h"

#include "dispatch/error.h"
#include "kernels/cpu/conv2d.h"
#include "kernels/cpu/lapack.h"
#include "kernels/cpu/limits.h"
#include "kernels/cpu/order.h"
#include "kernels/cpu/reduce.h"

namespace remora::cpu {

int64_t TensorView::numel() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

bool TensorView::is_contiguous() const {
  int64_t expected = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (sizes[axis] == 0) return true;
    if (sizes[axis] != 1 && strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}

absl::StatusOr<Scratch> Scratch::allocate(dispatch::MemoryPool& pool, int64_t bytes) {
  Scratch scratch;
  if (bytes == 0) return scratch;
  REMORA_ASSIGN_OR_RETURN(scratch.data_, pool.allocate(bytes));
  scratch.pool_ = &pool;
  scratch.bytes_ = bytes;
  return scratch;
}

void KernelCall::parallel_for(int64_t blocks, double cost_ns, ThreadPool::Block run) const {
  if (blocks > 1 && cost_ns >= static_cast<double>(kParallelCostNs)) {
    threads.parallel_for(blocks, run);
    return;
  }
  for (int64_t block = 0; block < blocks; ++block) run(block, 0);
}

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

bool is_supported(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI64 || dtype == DType::kBool;
}

int64_t scratch_bytes(const dispatch::OpInfo& info, std::span<const Spec> inputs,
                      std::span<const Spec> outputs, const dispatch::Attrs& attrs, int threads) {
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

bool packs_operands(const dispatch::OpInfo& info) {
  switch (info.kind) {
    case dispatch::OpKind::kReduction:
    case dispatch::OpKind::kContraction:
    case dispatch::OpKind::kPooling:
    case dispatch::OpKind::kComposite:
      return true;
    default:
      return false;
  }
}

}  // namespace remora::cpu
