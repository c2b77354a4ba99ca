// The tape: nodes that remember, for each tracked result, the op that made it and what its gradient
// rule needs. A node is held by the tensors and nodes that depend on it, so a tape is freed when
// its results are dropped.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "client/apply.h"
#include "client/autodiff/balanced.h"
#include "client/tensor.h"
#include "dispatch/attrs.h"
#include "dispatch/op.h"

namespace remora::autodiff {

/// A value that a rule needs: itself, or under Balanced checkpointing a use of what gives it again.
struct Saved {
  dispatch::Value value = {};
  SavedUse use = {};
};

/// What an op's node keeps for backward. Immutable, so that one walk reads it while another lets
/// go.
struct Kept {
  Kept() = default;
  /// Frees the tape behind it without recursion: tapes are deep.
  ~Kept();
  Kept(const Kept&) = delete;

  absl::InlinedVector<Edge, 2> edges;           // by input
  absl::InlinedVector<Saved, 2> saved_inputs;   // empty where the rule does not need it
  absl::InlinedVector<Saved, 1> saved_outputs;  // likewise
};

class Node {
 public:
  enum class Kind : uint8_t {
    kLeaf,      // gradients accumulate here
    kOp,        // a row of the catalogue
    kTransfer,  // a copy between devices
  };

  static std::shared_ptr<Node> leaf(AutodiffContext context);
  static std::shared_ptr<Node> transfer(const Tensor& source);
  /// An op over `inputs`, keeping what its rule needs; `remembered` is empty without Balanced
  /// checkpointing.
  static std::shared_ptr<Node> op(dispatch::OpCode code, dispatch::Attrs attrs,
                                  std::span<const Tensor> inputs,
                                  std::span<const dispatch::Value> outputs, AutodiffContext context,
                                  const Remembered& remembered);
  /// Use the functions above.
  Node(Kind kind, AutodiffContext context);
  ~Node();
  Node(const Node&) = delete;

  Kind kind() const { return kind_; }
  /// Rises with creation: a node's inputs have smaller numbers.
  uint64_t sequence() const { return sequence_; }
  const AutodiffContext& context() const { return context_; }
  std::string_view name() const;

  // -- ops and transfers
  dispatch::OpCode code() const { return code_; }
  const dispatch::Attrs& attrs() const { return attrs_; }
  std::span<const Spec> input_specs() const { return input_specs_; }
  std::span<const Spec> output_specs() const { return output_specs_; }
  const Device& source_device() const { return *source_device_; }

  // -- ops and transfers; any thread
  /// What it keeps; null of a leaf, and once backward has used it without keeping the tape.
  std::shared_ptr<const Kept> kept() const;
  /// Lets go of that; false if there was nothing any more.
  bool consume();

  // -- leaves; any thread
  std::optional<Tensor> gradient() const;
  std::optional<Tensor> exchange_gradient(std::optional<Tensor> gradient);
  /// Sets the gradient if it still is `expected` (compared as values); false if another thread was
  /// first.
  bool replace_gradient(const std::optional<Tensor>& expected, const Tensor& gradient);

 private:
  const Kind kind_;
  const uint64_t sequence_;
  const AutodiffContext context_;
  dispatch::OpCode code_{};
  dispatch::Attrs attrs_;
  absl::InlinedVector<Spec, 2> input_specs_;
  absl::InlinedVector<Spec, 1> output_specs_;
  std::optional<Device> source_device_;

  mutable absl::Mutex mutex_;  // guards all below
  std::shared_ptr<const Kept> kept_ ABSL_GUARDED_BY(mutex_);
  std::optional<Tensor> gradient_ ABSL_GUARDED_BY(mutex_);
};

/// Makes the node of an op that has been submitted, and its results' tensors.
OpOutputs record(dispatch::OpCode code, dispatch::Attrs attrs, std::span<const Tensor> inputs,
                 std::span<const dispatch::Value> results, AutodiffContext context,
                 const Remembered& remembered);

/// Nodes alive in the process; for tests of tape lifetime.
int64_t live_nodes();

}  // namespace remora::autodiff
