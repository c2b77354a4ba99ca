// Elementwise ops over one shape, run together: a row of neighbours goes through all of them before
// the next row, so that what only they use never reaches memory. Every op still rounds at its own
// boundary: the bits are those of one op after the other.
#pragma once

#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "kernels/cpu/kernel.h"

namespace remora::cpu {

/// A row's expression over `count` neighbours, in one type.
using ElementLoop = void (*)(const std::array<const std::byte*, 3>& operands, std::byte* out,
                             int64_t count);

/// A value that the ops of a fused run take or make.
struct FusedValue {
  enum class Kind : uint8_t {
    kOperand,    // an input of the call, broadcast to the run's shape
    kResult,     // an output of the call
    kTemporary,  // nobody else's
  };
  static constexpr uint16_t kNoRow = 0xFFFF;  // a result that is not staged

  Kind kind = Kind::kTemporary;
  DType dtype = DType::kF32;
  bool repeated = false;  // an operand of one element, staged once
  bool read = false;      // by a later op of the run
  uint16_t index = 0;     // among the call's inputs or outputs
  uint16_t row = kNoRow;  // where its elements are staged, below kFusedRows
};

struct FusedOp {
  ElementLoop loop = nullptr;  // null: a conversion from the operand's type to the result's
  uint16_t operands = 0;
  std::array<uint16_t, 3> inputs{};  // values
  uint16_t result = 0;               // a value
};

/// Ops in order, and the values they name. Two values share a row only if the first was read for
/// the last time before the second is made.
struct FusedProgram {
  absl::InlinedVector<FusedOp, 1> ops;
  absl::InlinedVector<FusedValue, 4> values;
};

/// Runs all ops of `program` over the shape of `call.out(0)`, which all its outputs have.
void run_fused(const FusedProgram& program, const KernelCall& call);

/// The loop of an elementwise row for operands of `dtype` (see `op_dtype`), f32's for 16-bit
/// floats. Null for any other row, and for those that can fail.
ElementLoop fusible_loop(dispatch::OpCode code, DType dtype);

}  // namespace remora::cpu
