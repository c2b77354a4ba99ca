// How Balanced checkpointing decides what is kept for backward (docs/decisions gives the reasons).
// Each op on tensors of a Balanced context leaves its results young, value and recipe together. A
// thread keeps track of its last young values; once enough ops follow, or backward begins, it
// decides the oldest by what those ops turned out to need: least bytes held first, then least work.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "absl/container/inlined_vector.h"
#include "client/autodiff/saved_value.h"
#include "client/tensor.h"

namespace remora::autodiff {

/// What recomputing may cost. Work is counted in bytes moved through memory.
struct CheckpointCosts {
  /// Floating-point operations that take as long as moving one byte.
  double flops_per_byte = 16.0;
  /// Work of an op, whatever its size: recording and starting it.
  double op_work = 4096.0;
  /// Most work of one op for each byte that it saves; an op above is never run again.
  double work_per_byte = 16.0;
  /// The same of all ops from the values that are held; beyond it a value on the way is held.
  double chain_work_per_byte = 64.0;
  int chain_ops = 128;
  /// A value as small is held: a recipe would take as much.
  int64_t held_bytes = 4096;
  /// Young values whose needs are waited for.
  size_t young_values = 64;
};

/// Whether an op under this context leaves recipes on this thread.
bool is_balanced(const AutodiffContext& context);

/// What backward may have again of an op's operands and results, in their order.
struct Remembered {
  absl::InlinedVector<SavedPtr, 3> inputs;
  absl::InlinedVector<SavedPtr, 2> outputs;
};
/// Of an op that has been submitted under a Balanced context.
Remembered remember(dispatch::OpCode code, const dispatch::Attrs& attrs,
                    std::span<const Tensor> inputs, std::span<const dispatch::Value> results);
/// Of a result made without operands on `device`.
SavedPtr remember_created(dispatch::OpCode code, const dispatch::Attrs& attrs, const Device& device,
                          const dispatch::Value& result);

/// A tape's use of a value that it has in hand.
SavedUse use_by_tape(const SavedPtr& saved, const dispatch::Value& value);

/// Decides all of this thread's young values; before a backward.
void decide_young();

/// Other costs on this thread, for tests.
class CheckpointCostsScope {
 public:
  explicit CheckpointCostsScope(const CheckpointCosts& costs);
  ~CheckpointCostsScope();
  CheckpointCostsScope(const CheckpointCostsScope&) = delete;
  /// Under which every op that can be run again is.
  static CheckpointCosts nothing_kept() {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    return {.op_work = 0.0, .work_per_byte = kAny, .chain_work_per_byte = kAny, .held_bytes = 0};
  }

 private:
  const CheckpointCosts costs_;
  const CheckpointCosts* const before_;
};

}  // namespace remora::autodiff
