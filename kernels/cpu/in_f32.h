// Ops on f16 and bf16 whose kernels know only f32: operands are widened to row-major f32 scratch,
// the kernel runs as if on f32 tensors, and its results are rounded once. Elementwise rows,
// reductions and casts do this row by row themselves, and what moves elements need not do it.
#pragma once

#include "kernels/cpu/kernel.h"

namespace remora::cpu {

/// Runs the kernel of an op that `computes_in_f32` (kernel.h).
absl::Status run_in_f32(const KernelCall& call, Kernel kernel);
/// Scratch bytes of `run_in_f32` itself, for these operands and results.
int64_t in_f32_scratch_bytes(std::span<const Spec> inputs, std::span<const Spec> outputs);
/// A Spec as the kernel sees it.
Spec in_f32(const Spec& spec);

}  // namespace remora::cpu
