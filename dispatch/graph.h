// A Graph is a window in relative form: ops whose operands are positions instead of values, with
// params moved out into slots. Its byte encoding is at once the key of a plan and its body on the
// wire, so two windows that do the same thing have the same bytes. Immutable once built; shared
// freely among threads.
//
// Encoding, version kCatalogueVersion: settings byte, then per op
//     varint opcode, varint input count, per input a varint:
//         back << 1       the output `back` places before the op's own first output (back >= 1)
//         index << 1 | 1  external input `index`; at its first use (index == inputs so far) its
//         Spec follows:
//                         dtype byte, varint rank, varint sizes
//     attributes by fields() (attrs_codec.h)
// and a zero byte. Varints are LEB128 and must be minimal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "dispatch/op.h"

namespace remora::dispatch {

/// Operand of an op inside a graph: an external input of the graph or an output of an earlier op.
class Position {
 public:
  static Position external(uint32_t index) { return Position((index << 1) | 1); }
  static Position output(uint32_t index) { return Position(index << 1); }
  bool is_external() const { return (bits_ & 1) != 0; }
  uint32_t index() const { return bits_ >> 1; }
  bool operator==(const Position&) const = default;

 private:
  explicit Position(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

struct GraphOp {
  const OpInfo* info = nullptr;
  absl::InlinedVector<Position, 4> inputs;
  Attrs attrs;                // param fields hold no meaning here: a run brings them
  uint32_t first_output = 0;  // index of its first output in Graph::outputs
  uint32_t first_param = 0;   // its first slot among the run's params
  uint32_t params = 0;        // how many
};

/// Which values outlive the window, by output index.
using LiveSet = std::vector<bool>;

/// 128-bit content hash; finds a cache entry, equality of the bytes confirms it.
struct KeyHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const KeyHash&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const KeyHash& key) {
    return H::combine(std::move(h), key.low, key.high);
  }
};

struct Graph {
  std::vector<GraphOp> ops;
  std::vector<Spec> inputs;   // external inputs, in order of first use
  std::vector<Spec> outputs;  // every output of every op, in recording order
  uint32_t params = 0;        // slots a run must bring
  uint8_t settings = 0;       // numeric settings: bits of device_settings.h
  std::string key;            // the encoding
  KeyHash hash;               // of `key`

  /// The Spec of an operand.
  const Spec& spec(Position position) const {
    return position.is_external() ? inputs[position.index()] : outputs[position.index()];
  }
  /// One op a line: "%3 = add(%1, $0) : f32[2]".
  std::string str() const;
};

using GraphPtr = std::shared_ptr<const Graph>;

/// Builds a Graph op by op and can return to an earlier point. Owned by one window; not
/// thread-safe.
class GraphBuilder {
 public:
  /// Where a builder stood; `rewind` returns to it.
  struct Mark {
    size_t ops, inputs, outputs, params, key_bytes;
  };

  /// `settings`: the numeric settings the ops are to run under (device_settings.h).
  explicit GraphBuilder(uint8_t settings = 0);
  /// Changes the settings. Requires that the builder is empty.
  void set_settings(uint8_t settings);
  /// Adds an external input and returns its index.
  uint32_t add_input(const Spec& spec);
  /// Appends an op whose outputs are `specs`; returns the index of its first output. External
  /// inputs must have been added in order of first use.
  uint32_t add_op(const OpInfo& info, std::span<const Position> inputs, const Attrs& attrs,
                  std::span<const Spec> specs);
  Mark mark() const;
  void rewind(const Mark& mark);

  size_t op_count() const { return graph_->ops.size(); }
  bool empty() const { return graph_->ops.empty(); }
  const std::vector<uint64_t>& params() const { return params_; }
  /// Bytes the last op added to the key from its attributes alone; feeds the cut policy's rolling
  /// hash.
  std::string_view last_attrs_key() const;

  /// Seals the graph and leaves the builder empty. `params` receives the run's slots.
  GraphPtr finish(std::vector<uint64_t>& params);

 private:
  std::unique_ptr<Graph> graph_;
  std::vector<uint64_t> params_;
  uint32_t announced_inputs_ = 0;  // external inputs whose Spec is already in the key
  size_t last_attrs_begin_ = 0;
};

/// Bounds that `decode_graph` enforces before it allocates.
struct GraphLimits {
  size_t max_ops;
  size_t max_inputs;
};

/// Decodes and fully re-checks an encoding from a peer or a file: opcodes, positions, ranks, sizes
/// and every shape rule. INVALID_ARGUMENT names the op and what is wrong with it.
absl::StatusOr<GraphPtr> decode_graph(std::string_view bytes, const GraphLimits& limits);

/// A graph of one op over the given operands: what op-by-op execution runs.
GraphPtr single_op_graph(const GraphOp& op, const Graph& from);

}  // namespace remora::dispatch
