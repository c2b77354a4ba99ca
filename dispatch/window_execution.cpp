#include "dispatch/window_execution.h"

#include <algorithm>
#include <optional>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

/// What a live output costs: its logical size, or all of a storage that nobody has paid for yet.
int64_t cost_bytes(const Spec& spec, const Buffer& buffer) {
  const int64_t logical = spec.byte_size();
  if (buffer.storage == nullptr || buffer.storage->charged()) return logical;
  return std::max(logical, buffer.storage->byte_size());
}

/// Why each output of a graph has no value; OK where it has one.
using Errors = std::vector<absl::Status>;

std::string_view call_of(const WindowRun& run, size_t op) {
  return run.calls == nullptr ? std::string_view() : (*run.calls)[op];
}

/// The error of an op under the name of what the program called; or with its origin, for the
/// program that knows that.
absl::Status error_of(const WindowRun& run, size_t op, const absl::Status& status) {
  if (run.calls != nullptr) return in_call(call_of(run, op), status);
  return with_origin(status, {run.window, static_cast<uint32_t>(op)});
}

void report(const WindowRun& run, const GraphOp& op, const absl::Status& status) {
  if (run.on_failure) run.on_failure(op, status);
}

std::span<absl::Status> outputs_of(Errors& errors, const GraphOp& op) {
  return std::span(errors).subspan(op.first_output, static_cast<size_t>(op.info->outputs));
}

/// The error of the first operand that has none but an error; OK if all are there.
absl::Status operand_error(const WindowRun& run, const GraphOp& op, const Errors& errors) {
  for (const Position position : op.inputs) {
    if (!position.is_external()) {
      if (!errors[position.index()].ok()) return errors[position.index()];
    } else if (const Value& input = run.inputs[position.index()]; input->poisoned()) {
      return input->error();
    }
  }
  return absl::OkStatus();
}

/// Spreads the failures of a whole-plan run to the outputs that depend on them.
Errors spread_failures(const WindowRun& run, const std::vector<OpFailure>& failures) {
  const Graph& graph = *run.graph;
  Errors errors(graph.outputs.size());
  if (failures.empty()) return errors;
  std::vector<const absl::Status*> own(graph.ops.size(), nullptr);
  for (const OpFailure& failure : failures) own[failure.op] = &failure.status;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    absl::Status status = operand_error(run, op, errors);
    if (status.ok() && own[i] != nullptr) {
      status = error_of(run, i, *own[i]);
      report(run, op, status);
    }
    if (!status.ok()) std::ranges::fill(outputs_of(errors, op), status);
  }
  return errors;
}

/// Runs a window one op at a time, so that only what truly fails or depends on a failure is
/// poisoned.
class OpByOp {
 public:
  OpByOp(Backend& backend, PlanCache& plans, WindowRun& run)
      : backend_(backend),
        plans_(plans),
        run_(run),
        graph_(*run.graph),
        buffers_(graph_.outputs.size()),
        charges_(graph_.outputs.size()),
        errors_(graph_.outputs.size()),
        last_use_(graph_.outputs.size(), 0) {
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      for (uint32_t k = 0; k < static_cast<uint32_t>(graph_.ops[i].info->outputs); ++k) {
        last_use_[graph_.ops[i].first_output + k] = i;
      }
      for (const Position position : graph_.ops[i].inputs) {
        if (!position.is_external()) last_use_[position.index()] = i;
      }
    }
  }

  void execute() {
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const GraphOp& op = graph_.ops[i];
      absl::Status status = operand_error(run_, op, errors_);
      if (status.ok()) {
        status = run_op(i);
        if (!status.ok()) {
          status = error_of(run_, i, status);
          report(run_, op, status);
        }
      }
      if (!status.ok()) std::ranges::fill(outputs_of(errors_, op), status);
      release_unused(i);
    }
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      if (!run_.outputs[i]) continue;
      if (errors_[i].ok()) {
        run_.outputs[i]->fulfil(std::move(buffers_[i]), std::move(charges_[i]));
      } else {
        run_.outputs[i]->poison(errors_[i]);
      }
    }
  }

 private:
  absl::Status run_op(uint32_t index) {
    const GraphOp& op = graph_.ops[index];
    std::vector<Buffer> inputs;
    for (const Position position : op.inputs) {
      inputs.push_back(position.is_external() ? run_.inputs[position.index()]->buffer()
                                              : buffers_[position.index()]);
    }
    const auto count = static_cast<size_t>(op.info->outputs);
    REMORA_ASSIGN_OR_RETURN(PreparedPlan * prepared,
                            plans_.get(single_op_graph(op, graph_), LiveSet(count, true)));
    MemoryCharge charge;
    if (run_.account != nullptr) {
      absl::StatusOr<MemoryCharge> reserved = run_.account->reserve(prepared->plan->peak_bytes());
      if (!reserved.ok()) {
        return absl::Status(reserved.status().code(),
                            str_cat(op.info->name, " of ", graph_.outputs[op.first_output].str(),
                                    ": ", std::string(reserved.status().message())));
      }
      charge = *std::move(reserved);
    }
    const std::vector<bool> consumed(inputs.size(), false);
    RunRequest request{inputs, std::span(run_.params).subspan(op.first_param, op.params), consumed};
    request.window = next_window_number();
    request.ended_by_cut = true;  // a detour: not worth a definition of its own
    request.calls = std::make_shared<const CallNames>(1, call_of(run_, index));
    RunResult result = backend_.run(*prepared->plan, request);
    REMORA_RETURN_IF_ERROR(result.status);
    if (!result.failures.empty()) return result.failures.front().status;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t output = op.first_output + static_cast<uint32_t>(i);
      Buffer& buffer = buffers_[output];
      buffer = std::move(result.outputs[i]);
      MemoryCharge cost = charge.split(cost_bytes(graph_.outputs[output], buffer));
      if (buffer.storage != nullptr && !buffer.storage->charged()) {
        buffer.storage->hold(std::move(cost));
      } else {
        charges_[output] = std::move(cost);
      }
    }
    return absl::OkStatus();
  }

  void release(uint32_t output) {
    if (run_.outputs[output]) return;
    buffers_[output] = Buffer();
    charges_[output] = MemoryCharge();
  }

  void release_unused(uint32_t op_index) {
    const GraphOp& op = graph_.ops[op_index];
    for (const Position position : op.inputs) {
      if (!position.is_external() && last_use_[position.index()] == op_index)
        release(position.index());
    }
    for (uint32_t k = 0; k < static_cast<uint32_t>(op.info->outputs); ++k) {
      if (last_use_[op.first_output + k] == op_index) release(op.first_output + k);
    }
  }

  Backend& backend_;
  PlanCache& plans_;
  WindowRun& run_;
  const Graph& graph_;
  std::vector<Buffer> buffers_;
  std::vector<MemoryCharge> charges_;
  Errors errors_;
  std::vector<uint32_t> last_use_;  // index of the op that reads an output last, or makes it
};

/// Runs the window as one plan. False if it did not run at all and has to go op by op.
bool execute_whole(Backend& backend, PlanCache& plans, WindowRun& run) {
  for (const Value& input : run.inputs) {
    if (input->poisoned()) return false;
  }
  const absl::StatusOr<PreparedPlan*> prepared = plans.get(run.graph, run.live);
  if (!prepared.ok()) return false;
  MemoryCharge charge;
  if (run.account != nullptr) {
    absl::StatusOr<MemoryCharge> reserved = run.account->reserve((*prepared)->plan->peak_bytes());
    if (!reserved.ok()) return false;
    charge = *std::move(reserved);
  }
  std::vector<Buffer> inputs;
  inputs.reserve(run.inputs.size());
  for (const Value& input : run.inputs) inputs.push_back(input->buffer());
  RunRequest request{inputs, run.params, run.consumed};
  request.window = run.window;
  request.ended_by_cut = run.ended_by_cut;
  request.calls = run.calls;
  RunResult result = backend.run(*(*prepared)->plan, request);
  if (!result.status.ok()) return false;
  Errors errors = spread_failures(run, result.failures);
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    if (!run.outputs[i]) continue;
    if (errors[i].ok()) {
      const int64_t bytes = cost_bytes(run.graph->outputs[i], result.outputs[i]);
      run.outputs[i]->fulfil(std::move(result.outputs[i]), charge.split(bytes));
    } else {
      run.outputs[i]->poison(std::move(errors[i]));
    }
  }
  return true;
}

}  // namespace

void execute_window(Backend& backend, PlanCache& plans, WindowRun& run) {
  if (!execute_whole(backend, plans, run)) OpByOp(backend, plans, run).execute();
}

void poison_window(WindowRun& run, const absl::Status& reason) {
  for (const Value& output : run.outputs) {
    if (output && !output->settled()) output->poison(reason);
  }
}

}  // namespace remora::dispatch
