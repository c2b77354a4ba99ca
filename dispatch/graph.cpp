#include "dispatch/graph.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dispatch/attrs_codec.h"
#include "dispatch/device_settings.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

KeyHash hash_key(std::string_view key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return {hash.low64, hash.high64};
}

}  // namespace

std::string Graph::str() const {
  std::string out;
  for (const GraphOp& op : ops) {
    for (uint32_t i = 0; i < static_cast<uint32_t>(op.info->outputs); ++i) {
      out += str_cat(i == 0 ? "" : ", ", "%", op.first_output + i);
    }
    out += str_cat(" = ", op.info->name, "(");
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      out +=
          str_cat(i == 0 ? "" : ", ", op.inputs[i].is_external() ? "$" : "%", op.inputs[i].index());
    }
    const std::string attributes = attrs_str(op.attrs);
    out += str_cat(attributes.empty() ? "" : "; ", attributes,
                   ") : ", outputs[op.first_output].str(), "\n");
  }
  return out;
}

GraphBuilder::GraphBuilder(uint8_t settings) : graph_(std::make_unique<Graph>()) {
  graph_->settings = settings;
  graph_->key.push_back(static_cast<char>(kCatalogueVersion));
  graph_->key.push_back(static_cast<char>(settings));
}

void GraphBuilder::set_settings(uint8_t settings) {
  graph_->settings = settings;
  graph_->key[1] = static_cast<char>(settings);
}

uint32_t GraphBuilder::add_input(const Spec& spec) {
  graph_->inputs.push_back(spec);
  return static_cast<uint32_t>(graph_->inputs.size() - 1);
}

uint32_t GraphBuilder::add_op(const OpInfo& info, std::span<const Position> inputs,
                              const Attrs& attrs, std::span<const Spec> specs) {
  std::string& key = graph_->key;
  const auto first_output = static_cast<uint32_t>(graph_->outputs.size());
  append_varint(key, static_cast<uint64_t>(info.code));
  append_varint(key, inputs.size());
  for (const Position position : inputs) {
    if (!position.is_external()) {
      append_varint(key, static_cast<uint64_t>(first_output - position.index()) << 1);
      continue;
    }
    append_varint(key, (static_cast<uint64_t>(position.index()) << 1) | 1);
    if (position.index() == announced_inputs_) {
      append_spec(key, graph_->inputs[position.index()]);
      ++announced_inputs_;
    }
  }
  last_attrs_begin_ = key.size();
  append_attrs_key(key, attrs);

  GraphOp& op = graph_->ops.emplace_back();
  op.info = &info;
  op.inputs.assign(inputs.begin(), inputs.end());
  op.attrs = attrs;
  op.first_output = first_output;
  op.first_param = graph_->params;
  append_params(attrs, params_);
  op.params = static_cast<uint32_t>(params_.size()) - op.first_param;
  graph_->params = static_cast<uint32_t>(params_.size());
  graph_->outputs.insert(graph_->outputs.end(), specs.begin(), specs.end());
  return first_output;
}

GraphBuilder::Mark GraphBuilder::mark() const {
  return {graph_->ops.size(), graph_->inputs.size(), graph_->outputs.size(), params_.size(),
          graph_->key.size()};
}

void GraphBuilder::rewind(const Mark& mark) {
  graph_->ops.resize(mark.ops);
  graph_->inputs.resize(mark.inputs);
  graph_->outputs.resize(mark.outputs);
  params_.resize(mark.params);
  graph_->params = static_cast<uint32_t>(mark.params);
  graph_->key.resize(mark.key_bytes);
  announced_inputs_ = static_cast<uint32_t>(mark.inputs);
  last_attrs_begin_ = mark.key_bytes;
}

std::string_view GraphBuilder::last_attrs_key() const {
  return std::string_view(graph_->key).substr(last_attrs_begin_);
}

GraphPtr GraphBuilder::finish(std::vector<uint64_t>& params) {
  graph_->key.push_back(0);
  graph_->hash = hash_key(graph_->key);
  params = std::move(params_);
  GraphPtr graph = std::move(graph_);
  *this = GraphBuilder();
  return graph;
}

namespace {

/// Follows an encoding and rebuilds it with a GraphBuilder; the result's key must equal the input.
class GraphDecoder {
 public:
  GraphDecoder(std::string_view bytes, const GraphLimits& limits)
      : bytes_(bytes), in_(bytes), limits_(limits) {}

  absl::StatusOr<GraphPtr> decode() {
    if (in_.size() < 2 || static_cast<uint8_t>(in_[0]) != kCatalogueVersion) {
      return absl::InvalidArgumentError(
          str_cat("graph: catalogue version ", in_.empty() ? 0 : static_cast<uint8_t>(in_[0]),
                  " where this build has ", static_cast<int>(kCatalogueVersion)));
    }
    const auto settings = static_cast<uint8_t>(in_[1]);
    if ((settings & ~kNumericBits) != 0) {
      return absl::InvalidArgumentError(
          str_cat("graph: unknown numeric settings ", static_cast<int>(settings)));
    }
    builder_.set_settings(settings);
    in_.remove_prefix(2);
    for (;;) {
      uint64_t number = 0;
      if (!read_varint(in_, number)) return absl::InvalidArgumentError("graph: cut short");
      if (number == 0) break;
      const OpInfo* info = find_op(number);
      if (info == nullptr)
        return absl::InvalidArgumentError(str_cat("graph: unknown opcode ", number));
      if (builder_.op_count() == limits_.max_ops) {
        return absl::ResourceExhaustedError(str_cat("graph: more than ", limits_.max_ops, " ops"));
      }
      REMORA_RETURN_IF_ERROR(read_op(*info));
    }
    if (!in_.empty()) return absl::InvalidArgumentError("graph: bytes after its end");
    if (builder_.empty()) return absl::InvalidArgumentError("graph: no op");
    std::vector<uint64_t> params;
    GraphPtr graph = builder_.finish(params);
    // One graph has one encoding: a key that differs from what was sent would be another plan's.
    if (graph->key != bytes_) return absl::InvalidArgumentError("graph: not in its canonical form");
    return graph;
  }

 private:
  absl::Status read_op(const OpInfo& info) {
    uint64_t count = 0;
    if (!read_varint(in_, count) || count > kMaxOpInputs) {
      return absl::InvalidArgumentError(
          str_cat(info.name, ": operand count is cut short or over ", kMaxOpInputs));
    }
    absl::InlinedVector<Position, 4> positions;
    absl::InlinedVector<Spec, 4> specs;
    for (uint64_t i = 0; i < count; ++i) {
      REMORA_ASSIGN_OR_RETURN(const Position position, read_position(info));
      positions.push_back(position);
      specs.push_back(position.is_external() ? inputs_[position.index()]
                                             : outputs_[position.index()]);
    }
    Attrs attrs = info.default_attrs;
    if (absl::Status status = read_attrs_key(in_, attrs); !status.ok()) {
      return absl::InvalidArgumentError(str_cat(info.name, ": ", std::string(status.message())));
    }
    REMORA_ASSIGN_OR_RETURN(const Specs outputs, infer(info, specs, attrs));
    builder_.add_op(info, positions, attrs, outputs);
    outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
    return absl::OkStatus();
  }

  absl::StatusOr<Position> read_position(const OpInfo& info) {
    uint64_t coded = 0;
    if (!read_varint(in_, coded))
      return absl::InvalidArgumentError(str_cat(info.name, ": cut short"));
    const uint64_t number = coded >> 1;
    if ((coded & 1) == 0) {
      if (number == 0 || number > outputs_.size()) {
        return absl::InvalidArgumentError(str_cat(info.name, ": operand ", number,
                                                  " places back of ", outputs_.size(), " values"));
      }
      return Position::output(static_cast<uint32_t>(outputs_.size() - number));
    }
    if (number > inputs_.size()) {
      return absl::InvalidArgumentError(
          str_cat(info.name, ": external input ", number, " of ", inputs_.size()));
    }
    if (number == inputs_.size()) {
      if (inputs_.size() == limits_.max_inputs) {
        return absl::ResourceExhaustedError(
            str_cat("graph: more than ", limits_.max_inputs, " inputs"));
      }
      Spec spec;
      if (absl::Status status = read_spec(in_, spec); !status.ok()) {
        return absl::InvalidArgumentError(
            str_cat(info.name, ": external input ", number, ": ", std::string(status.message())));
      }
      builder_.add_input(spec);
      inputs_.push_back(std::move(spec));
    }
    return Position::external(static_cast<uint32_t>(number));
  }

  const std::string_view bytes_;
  std::string_view in_;
  const GraphLimits limits_;
  GraphBuilder builder_;
  std::vector<Spec> inputs_;
  std::vector<Spec> outputs_;
};

}  // namespace

absl::StatusOr<GraphPtr> decode_graph(std::string_view bytes, const GraphLimits& limits) {
  return GraphDecoder(bytes, limits).decode();
}

GraphPtr single_op_graph(const GraphOp& op, const Graph& from) {
  GraphBuilder builder(from.settings);
  absl::InlinedVector<Position, 4> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    inputs.push_back(Position::external(builder.add_input(from.spec(op.inputs[i]))));
  }
  const auto outputs = std::span<const Spec>(from.outputs)
                           .subspan(op.first_output, static_cast<size_t>(op.info->outputs));
  builder.add_op(*op.info, inputs, op.attrs, outputs);
  std::vector<uint64_t> params;
  return builder.finish(params);
}

}  // namespace remora::dispatch
