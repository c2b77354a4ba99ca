// The kernels of one SIMD level: what the rest of the backend, which is compiled for any processor
// of the architecture, calls of them. Kernels are compiled once for each level;
// kernels/CMakeLists.txt links a level's objects into one and keeps this table's accessor as its
// only global symbol, so that no inline function compiled for a newer processor can stand in for
// another's.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu/fused.h"
#include "kernels/cpu/kernel.h"

namespace remora::cpu {

struct KernelTable {
  /// The kernel of a catalogue row.
  Kernel (*find)(dispatch::OpCode code);
  /// Runs the kernel of an op that `computes_in_f32`.
  absl::Status (*run_in_f32)(const KernelCall& call, Kernel kernel);
  /// See fused.h.
  ElementLoop (*fusible_loop)(dispatch::OpCode code, DType dtype);
  void (*run_fused)(const FusedProgram& program, const KernelCall& call);
  /// Copies `source` to `target`, of the same sizes and element type, on the calling thread.
  void (*copy)(const TensorView& source, const TensorView& target);
  /// What a kernel may take from the pool while it runs, beside copies of strided operands.
  int64_t (*scratch_bytes)(const dispatch::OpInfo& info, std::span<const Spec> inputs,
                           std::span<const Spec> outputs, const dispatch::Attrs& attrs,
                           int threads);
};

/// A level that was compiled in.
struct SimdLevel {
  std::string_view name;   // as REMORA_SIMD and the fingerprint have it: "avx2"
  std::string_view label;  // for people: "AVX2"
  const KernelTable& (*kernels)();
};

/// The level named `wanted`; if empty, the one that the environment variable REMORA_SIMD names;
/// else the best one this processor has. FAILED_PRECONDITION naming what the processor lacks;
/// INVALID_ARGUMENT for a level that does not exist.
absl::StatusOr<SimdLevel> choose_simd(std::string_view wanted);

}  // namespace remora::cpu
