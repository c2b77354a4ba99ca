#include "kernels/cpu/kernel.h"

#include "dispatch/error.h"
#include "kernels/cpu/limits.h"

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

bool computes_in_f32(const dispatch::OpInfo& info, DType dtype) {
  if (!is_half(dtype)) return false;
  switch (info.kind) {
    case dispatch::OpKind::kContraction:
    case dispatch::OpKind::kLinearAlgebra:
    case dispatch::OpKind::kPooling:
    case dispatch::OpKind::kComposite:
      return true;
    case dispatch::OpKind::kIndexing:
      return info.dtypes == dispatch::kNumbers;  // the rows that add
    case dispatch::OpKind::kCreation:
      return info.dtypes == dispatch::kFloats;  // the rows that draw
    default:
      return false;
  }
}

bool packs_operands(const dispatch::OpInfo& info, DType dtype) {
  if (computes_in_f32(info, dtype)) return false;  // its copies are f32 and counted already
  switch (info.kind) {
    case dispatch::OpKind::kReduction:
    case dispatch::OpKind::kContraction:
    case dispatch::OpKind::kLinearAlgebra:
    case dispatch::OpKind::kPooling:
    case dispatch::OpKind::kComposite:
      return true;
    default:
      return false;
  }
}

}  // namespace remora::cpu
