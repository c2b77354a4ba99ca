#include "tests/support/fake_backends.h"

#include <cstring>

#include "dispatch/error.h"
#include "tests/reference/reference.h"

namespace remora::test {
namespace {

using dispatch::Buffer;
using dispatch::Graph;
using dispatch::GraphOp;
using dispatch::GraphPtr;
using dispatch::HostData;
using dispatch::LiveSet;
using dispatch::RunRequest;
using dispatch::RunResult;

std::atomic<int64_t> live_bytes_of_all{0};

struct ArrayStorage : dispatch::Storage {
  explicit ArrayStorage(reference::Array array_in) : array(std::move(array_in)) {
    live_bytes_of_all.fetch_add(array.spec.byte_size());
  }
  ~ArrayStorage() override { live_bytes_of_all.fetch_sub(array.spec.byte_size()); }
  const reference::Array array;
};

struct GraphPlan : dispatch::Plan {
  GraphPlan(GraphPtr graph_in, LiveSet live_in)
      : graph(std::move(graph_in)), live(std::move(live_in)) {}
  int64_t peak_bytes() const override {
    int64_t bytes = 0;
    for (const Spec& output : graph->outputs) bytes += output.byte_size();
    return bytes;
  }
  const GraphPtr graph;
  const LiveSet live;
};

Buffer buffer_of(reference::Array array) {
  Buffer buffer;
  buffer.spec = array.spec;
  buffer.strides = contiguous_strides(array.spec.shape);
  buffer.storage = std::make_shared<ArrayStorage>(std::move(array));
  return buffer;
}

const reference::Array& array_of(const Buffer& buffer) {
  return static_cast<const ArrayStorage&>(*buffer.storage).array;
}

/// One run of a graph on the reference.
class Interpretation {
 public:
  Interpretation(const Graph& graph, const RunRequest& request)
      : request_(request), results_(graph.outputs.size()), failed_(graph.outputs.size()) {}

  /// The op's status; OK as well if an operand of it has failed.
  absl::Status run(const GraphOp& op, const std::function<absl::Status(const GraphOp&)>& fail_op) {
    reference::Arrays operands;
    bool lost = false;
    for (const dispatch::Position position : op.inputs) {
      if (position.is_external()) {
        operands.push_back(array_of(request_.inputs[position.index()]));
      } else {
        lost |= failed_[position.index()];
        operands.push_back(results_[position.index()]);
      }
    }
    absl::Status status = fail_op && !lost ? fail_op(op) : absl::OkStatus();
    if (status.ok() && !lost) status = evaluate(op, operands);
    for (int k = 0; k < op.info->outputs; ++k) {
      failed_[op.first_output + static_cast<size_t>(k)] = lost || !status.ok();
    }
    return status;
  }
  Buffer result(size_t output) const {
    return failed_[output] ? Buffer() : buffer_of(results_[output]);
  }

 private:
  absl::Status evaluate(const GraphOp& op, const reference::Arrays& operands) {
    dispatch::Attrs attrs = op.attrs;
    dispatch::set_params(attrs, request_.params.subspan(op.first_param, op.params));
    try {
      reference::Arrays made = reference::evaluate(op.info->name, operands, attrs);
      for (size_t k = 0; k < made.size(); ++k) {
        // Rounded to the dtype, as a device's memory would.
        results_[op.first_output + k] = reference::from_host(reference::to_host(made[k]));
      }
    } catch (const Error& error) {
      return error.status();
    }
    return absl::OkStatus();
  }

  const RunRequest& request_;
  reference::Arrays results_;
  std::vector<bool> failed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<dispatch::Plan>> NullBackend::prepare(GraphPtr graph,
                                                                     const LiveSet& live) {
  return std::make_unique<GraphPlan>(std::move(graph), live);
}

RunResult NullBackend::run(dispatch::Plan& plan, const RunRequest&) {
  const auto& prepared = static_cast<GraphPlan&>(plan);
  RunResult result;
  for (size_t i = 0; i < prepared.live.size(); ++i) {
    result.outputs.push_back(
        prepared.live[i] ? buffer_of(reference::Array(prepared.graph->outputs[i])) : Buffer());
  }
  return result;
}

absl::StatusOr<Buffer> NullBackend::upload(dispatch::ValueId, HostData data) {
  return buffer_of(reference::Array(data.spec));
}

void NullBackend::download(const Buffer& buffer, dispatch::ReadCallback done) {
  done(HostData::make(buffer.spec, [](std::span<std::byte> out) {
    if (!out.empty()) std::memset(out.data(), 0, out.size());
  }));
}

void InterpreterBackend::set_hooks(Hooks hooks) {
  const absl::MutexLock lock(&mutex_);
  hooks_ = std::move(hooks);
}

InterpreterBackend::Hooks InterpreterBackend::hooks() const {
  const absl::MutexLock lock(&mutex_);
  return hooks_;
}

int64_t InterpreterBackend::live_bytes() { return live_bytes_of_all.load(); }

bool InterpreterBackend::supports(dispatch::OpCode code, DType dtype) const {
  if (dispatch::op_info(code).fast && hooks().lacks_fast_rows) return false;
  if (hooks().lacks_dtype == dtype) return false;
  return dtype == DType::kF32 || dtype == DType::kI64 || dtype == DType::kBool;
}

absl::StatusOr<std::unique_ptr<dispatch::Plan>> InterpreterBackend::prepare(GraphPtr graph,
                                                                            const LiveSet& live) {
  prepares_.fetch_add(1);
  return std::make_unique<GraphPlan>(std::move(graph), live);
}

RunResult InterpreterBackend::run(dispatch::Plan& plan, const RunRequest& request) {
  const auto& prepared = static_cast<GraphPlan&>(plan);
  const Graph& graph = *prepared.graph;
  const Hooks given = hooks();
  runs_.fetch_add(1);
  if (given.before_run) given.before_run(graph, request);
  RunResult result;
  if (graph.ops.size() > given.max_ops_at_once) {
    result.status = absl::ResourceExhaustedError("interpreter: too many ops at once");
    return result;
  }
  Interpretation interpretation(graph, request);
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    absl::Status status = interpretation.run(graph.ops[i], given.fail_op);
    if (!status.ok()) result.failures.push_back({i, std::move(status)});
  }
  for (size_t i = 0; i < prepared.live.size(); ++i) {
    result.outputs.push_back(prepared.live[i] ? interpretation.result(i) : Buffer());
  }
  return result;
}

absl::StatusOr<Buffer> InterpreterBackend::upload(dispatch::ValueId, HostData data) {
  return buffer_of(reference::from_host(data));
}

void InterpreterBackend::download(const Buffer& buffer, dispatch::ReadCallback done) {
  done(reference::to_host(array_of(buffer)));
}

}  // namespace remora::test
