#include "server/graph_table.h"

#include <algorithm>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "server/limits.h"

namespace remora::server {

using dispatch::Graph;
using dispatch::GraphOp;

namespace {

absl::Status check_supported(const ServedDevice& device, const Graph& graph) {
  const dispatch::Backend& backend = device.state->backend();
  std::vector<Spec> inputs;
  for (const GraphOp& op : graph.ops) {
    inputs.clear();
    for (const dispatch::Position position : op.inputs) inputs.push_back(graph.spec(position));
    const auto outputs =
        std::span(graph.outputs).subspan(op.first_output, static_cast<size_t>(op.info->outputs));
    const DType dtype = dispatch::op_dtype(*op.info, inputs, outputs);
    if (!backend.supports(op.info->code, dtype)) {
      return absl::UnimplementedError(str_cat(op.info->name, ": ", device.text,
                                              " does not run it in ", dtype_name(dtype),
                                              "; Describe lists what it runs"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<dispatch::GraphPtr> decode_checked(const ServedDevice& device,
                                                  const dispatch::LiveSet& live,
                                                  std::string_view body, size_t inputs,
                                                  size_t params) {
  REMORA_ASSIGN_OR_RETURN(
      dispatch::GraphPtr graph,
      dispatch::decode_graph(body, {wire::kMaxGraphOps, wire::kMaxGraphInputs}));
  if (live.size() != graph->outputs.size()) {
    return absl::InvalidArgumentError(str_cat("the live set has ", live.size(),
                                              " entries, the graph has ", graph->outputs.size(),
                                              " outputs"));
  }
  if (inputs != graph->inputs.size() || params != graph->params) {
    return absl::InvalidArgumentError(str_cat("runs bring ", inputs, " inputs and ", params,
                                              " params, the graph takes ", graph->inputs.size(),
                                              " and ", graph->params));
  }
  REMORA_RETURN_IF_ERROR(check_supported(device, *graph));
  return graph;
}

int64_t saturated_live_bytes(const Graph& graph, const dispatch::LiveSet& live) {
  int64_t bytes = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) bytes = capped_sum(bytes, graph.outputs[i].byte_size(), dispatch::kMaxQueuedBytes);
  }
  return bytes;
}

}  // namespace

DefinedGraph check_graph(const DeviceList& devices, uint32_t device, const dispatch::LiveSet& live,
                         std::string_view body, size_t inputs, size_t params) {
  DefinedGraph defined;
  defined.live = live;
  defined.live_count = static_cast<size_t>(std::count(live.begin(), live.end(), true));
  if (device >= devices.size()) {
    defined.status = absl::NotFoundError(str_cat("device ", device, " is not served; there are ",
                                                 devices.size(), ", numbered from 0"));
    return defined;
  }
  defined.device = device;
  absl::StatusOr<dispatch::GraphPtr> graph =
      decode_checked(*devices[device], live, body, inputs, params);
  if (!graph.ok()) {
    defined.status = graph.status();
    return defined;
  }
  defined.graph = *std::move(graph);
  defined.live_bytes = saturated_live_bytes(*defined.graph, live);
  return defined;
}

absl::Status GraphTable::check_room(const DefinedGraph& defined) const {
  const size_t ops = defined.graph->ops.size();
  const size_t bytes = defined.graph->key.size();
  if (graphs_.size() < wire::kMaxSessionGraphs && ops <= wire::kMaxSessionGraphOps - ops_ &&
      bytes <= wire::kMaxSessionGraphBytes - bytes_) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      str_cat("the session's graph table holds ", graphs_.size(), " graphs of ", ops_, " ops and ",
              bytes_, " bytes and one of ", ops, " ops and ", bytes, " bytes is added; at most ",
              wire::kMaxSessionGraphs, ", ", wire::kMaxSessionGraphOps, " and ",
              wire::kMaxSessionGraphBytes, " are allowed"));
}

absl::Status GraphTable::define(const wire::DefineRecord& record) {
  if (graphs_.contains(record.graph)) {
    return absl::AlreadyExistsError(
        str_cat("graph ", record.graph, " is already defined; its definition stays"));
  }
  DefinedGraph defined =
      check_graph(devices_, record.device, record.live, record.body, record.inputs, record.params);
  if (defined.status.ok()) defined.status = check_room(defined);
  if (defined.status.ok()) {
    ops_ += defined.graph->ops.size();
    bytes_ += defined.graph->key.size();
  } else {
    defined.graph = nullptr;
    defined.status =
        absl::Status(defined.status.code(),
                     str_cat("graph ", record.graph, ": ", std::string(defined.status.message())));
  }
  absl::Status status = defined.status;
  graphs_.emplace(record.graph, std::move(defined));
  return status;
}

void GraphTable::undefine(uint64_t number) {
  const auto found = graphs_.find(number);
  if (found == graphs_.end()) return;
  if (found->second.graph != nullptr) {
    ops_ -= found->second.graph->ops.size();
    bytes_ -= found->second.graph->key.size();
  }
  graphs_.erase(found);
}

const DefinedGraph* GraphTable::find(uint64_t number) const {
  const auto found = graphs_.find(number);
  return found == graphs_.end() ? nullptr : &found->second;
}

void GraphTable::clear() {
  graphs_.clear();
  ops_ = 0;
  bytes_ = 0;
}

}  // namespace remora::server
