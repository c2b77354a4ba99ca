#include "kernels/cpu/fusion.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/cpu/limits.h"

namespace remora::cpu {

using dispatch::Graph;
using dispatch::GraphOp;
using dispatch::LiveSet;
using dispatch::OpKind;
using dispatch::Position;

namespace {

constexpr uint32_t kNever = ~0u;

/// For each output the last op that takes it; beyond all ops if it outlives the graph.
std::vector<uint32_t> last_uses(const Graph& graph, const LiveSet& live) {
  std::vector<uint32_t> last(graph.outputs.size(), 0);
  for (uint32_t index = 0; index < graph.ops.size(); ++index) {
    for (const Position position : graph.ops[index].inputs) {
      if (!position.is_external()) last[position.index()] = index;
    }
  }
  for (size_t output = 0; output < last.size(); ++output) {
    if (live[output]) last[output] = kNever;
  }
  return last;
}

const Spec& result_spec(const Graph& graph, const GraphOp& op) {
  return graph.outputs[op.first_output];
}

/// The loop of an op that can join a group; of a cast there is none. Nothing for any other op.
std::optional<ElementLoop> loop_of(const KernelTable& kernels, const Graph& graph,
                                   const GraphOp& op) {
  switch (op.info->kind) {
    case OpKind::kCast:
      return nullptr;
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kTernary: {
      const DType dtype = graph.spec(op.inputs.back()).dtype;  // where's first input is a bool
      const ElementLoop loop = kernels.fusible_loop(op.info->code, dtype);
      if (loop != nullptr) return loop;
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

/// Builds the program of the elementwise ops in [first, last), which all have one shape.
class GroupBuilder {
 public:
  GroupBuilder(const KernelTable& kernels, const Graph& graph,
               const std::vector<uint32_t>& last_use, uint32_t first, uint32_t last)
      : kernels_(kernels), graph_(graph), last_use_(last_use) {
    group_.first = first;
    group_.last = last;
  }

  /// False if more rows would be needed at once than there are; `failed` then is the op that
  /// lacked one.
  bool build(const std::vector<bool>& is_view) {
    for (uint32_t index = group_.first; index < group_.last; ++index) {
      if (is_view[index]) continue;
      made_.insert(graph_.ops[index].first_output);
      for (const Position position : graph_.ops[index].inputs)
        last_in_group_[key_of(position)] = index;
    }
    // What is staged once keeps its row for the whole run, so those rows are taken first.
    for (failed_ = group_.first; failed_ < group_.last; ++failed_) {
      if (is_view[failed_]) continue;
      for (const Position position : graph_.ops[failed_].inputs) {
        const bool made = !position.is_external() && made_.contains(position.index());
        if (graph_.spec(position).numel() == 1 && !made && !operand(position).has_value())
          return false;
      }
    }
    for (failed_ = group_.first; failed_ < group_.last; ++failed_) {
      if (!is_view[failed_] && !add(failed_)) return false;
    }
    return true;
  }
  uint32_t failed() const { return failed_; }
  FusedGroup take() { return std::move(group_); }

 private:
  bool add(uint32_t index) {
    const GraphOp& op = graph_.ops[index];
    FusedOp fused;
    fused.loop = loop_of(kernels_, graph_, op).value();
    for (const Position position : op.inputs) {
      const std::optional<uint16_t> value = operand(position);
      if (!value.has_value()) return false;
      fused.inputs[fused.operands++] = *value;
    }
    const uint32_t output = op.first_output;
    const bool outlives = last_use_[output] >= group_.last;
    FusedValue value;
    value.kind = outlives ? FusedValue::Kind::kResult : FusedValue::Kind::kTemporary;
    value.dtype = graph_.outputs[output].dtype;
    value.index = outlives ? static_cast<uint16_t>(group_.results.size()) : 0;
    (outlives ? group_.results : group_.temporaries).push_back(output);
    const bool staged = !outlives || is_half(value.dtype);
    if (staged && !take_row(value)) return false;
    fused.result = push(Position::output(output), value);
    group_.program.ops.push_back(fused);
    release_rows(op, index);
    return true;
  }

  static uint64_t key_of(Position position) {
    return uint64_t{position.index()} << 1 | (position.is_external() ? 1 : 0);
  }

  /// The value of something an op takes; nothing if it would need a row and none is left.
  std::optional<uint16_t> operand(Position position) {
    const auto found = std::find(positions_.begin(), positions_.end(), position);
    if (found != positions_.end()) {
      const auto index = static_cast<uint16_t>(found - positions_.begin());
      group_.program.values[index].read = true;
      return index;
    }
    const Spec& spec = graph_.spec(position);
    FusedValue value{FusedValue::Kind::kOperand,
                     spec.dtype,
                     spec.numel() == 1,
                     true,
                     static_cast<uint16_t>(group_.operands.size()),
                     FusedValue::kNoRow};
    group_.operands.push_back(position);
    if (!take_row(value)) return std::nullopt;
    return push(position, value);
  }

  uint16_t push(Position position, const FusedValue& value) {
    positions_.push_back(position);
    group_.program.values.push_back(value);
    return static_cast<uint16_t>(positions_.size() - 1);
  }

  bool take_row(FusedValue& value) {
    for (uint16_t row = 0; row < kFusedRows; ++row) {
      if (row_taken_[row]) continue;
      row_taken_[row] = true;
      value.row = row;
      return true;
    }
    return false;
  }

  /// Frees the rows of values that op `index` of the graph is the last of the group to take, but
  /// for those that are staged once.
  void release_rows(const GraphOp& op, uint32_t index) {
    const auto release = [&](Position position) {
      const auto found = std::find(positions_.begin(), positions_.end(), position);
      const auto place = static_cast<size_t>(found - positions_.begin());
      const FusedValue& value = group_.program.values[place];
      const bool has_row = value.row != FusedValue::kNoRow && !value.repeated;
      const auto last = last_in_group_.find(key_of(position));
      const bool done = last == last_in_group_.end() || last->second <= index;
      if (has_row && done) row_taken_[value.row] = false;
    };
    for (const Position position : op.inputs) release(position);
    release(Position::output(op.first_output));  // one that the group never reads
  }

  const KernelTable& kernels_;
  const Graph& graph_;
  const std::vector<uint32_t>& last_use_;
  FusedGroup group_;
  std::vector<Position> positions_;                        // by value
  absl::flat_hash_map<uint64_t, uint32_t> last_in_group_;  // the last op that takes a value
  absl::flat_hash_set<uint32_t> made_;                     // outputs of the group's ops
  uint32_t failed_ = 0;
  std::array<bool, kFusedRows> row_taken_{};
};

/// Where the group that begins with op `first` ends, and its elementwise ops.
struct Extent {
  uint32_t last = 0;
  size_t ops = 0;
};

Extent group_extent(const KernelTable& kernels, const Graph& graph,
                    const std::vector<bool>& is_view, uint32_t first) {
  const Spec& shape_of = result_spec(graph, graph.ops[first]);
  const uint32_t first_output = graph.ops[first].first_output;
  Extent extent{first, 0};
  for (uint32_t index = first; index < graph.ops.size() && extent.ops < kFusedOps; ++index) {
    const GraphOp& op = graph.ops[index];
    if (is_view[index]) {
      const Position operand = op.inputs[0];
      if (!operand.is_external() && operand.index() >= first_output) {
        break;  // of a value of the group, or of another view among its ops
      }
      continue;
    }
    if (!loop_of(kernels, graph, op).has_value()) break;
    if (!(result_spec(graph, op).shape == shape_of.shape)) break;
    ++extent.ops;
    extent.last = index + 1;
  }
  return extent;
}

/// The part of an extent before op `end`, which ends with an elementwise op.
Extent part_before(const Extent& extent, uint32_t first, uint32_t end,
                   const std::vector<bool>& is_view) {
  Extent part{first, 0};
  for (uint32_t index = first; index < std::min(end, extent.last); ++index) {
    if (is_view[index]) continue;
    ++part.ops;
    part.last = index + 1;
  }
  return part;
}

}  // namespace

std::vector<FusedGroup> find_fused_groups(const KernelTable& kernels, const Graph& graph,
                                          const LiveSet& live, const std::vector<bool>& is_view) {
  const std::vector<uint32_t> last_use = last_uses(graph, live);
  std::vector<FusedGroup> groups;
  for (uint32_t first = 0; first < graph.ops.size();) {
    if (is_view[first] || !loop_of(kernels, graph, graph.ops[first]).has_value()) {
      ++first;
      continue;
    }
    Extent extent = group_extent(kernels, graph, is_view, first);
    while (extent.ops >= 2) {
      GroupBuilder builder(kernels, graph, last_use, first, extent.last);
      if (builder.build(is_view)) {
        groups.push_back(builder.take());
        break;
      }
      extent = part_before(extent, first, builder.failed(), is_view);
    }
    first = extent.ops >= 2 ? extent.last : first + 1;
  }
  return groups;
}

}  // namespace remora::cpu
