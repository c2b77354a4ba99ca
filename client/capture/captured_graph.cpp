#include "client/capture/captured_graph.h"

#include <ostream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "client/apply.h"
#include "client/capture/listing.h"
#include "client/io/captured_file.h"
#include "client/io/file_error.h"
#include "dispatch/device_state.h"
#include "dispatch/replay.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"

namespace remora::capture {

using dispatch::Value;

struct CapturedGraph::State {
  dispatch::CapturedProgram program;
  absl::Mutex mutex;  // guards what devices hold
  absl::flat_hash_map<dispatch::DeviceState*, std::vector<Value>> resident ABSL_GUARDED_BY(mutex);

  /// The initializers on `device`, taken there by whoever comes first.
  std::vector<Value> on(dispatch::DeviceState& device) {
    const absl::MutexLock lock(&mutex);
    if (const auto found = resident.find(&device); found != resident.end()) return found->second;
    std::vector<Value> values;
    for (const dispatch::HostData& data : program.initializers) {
      values.push_back(dispatch::upload(device.device(), data));
    }
    return resident.emplace(&device, std::move(values)).first->second;
  }
};

CapturedGraph::CapturedGraph(dispatch::CapturedProgram program)
    : state_(std::make_shared<State>()) {
  state_->program = std::move(program);
}

const dispatch::CapturedProgram& CapturedGraph::program() const { return state_->program; }

std::vector<Spec> CapturedGraph::outputs() const {
  std::vector<Spec> specs;
  for (const dispatch::CapturedSource& source : program().outputs) {
    specs.push_back(program().spec(source));
  }
  return specs;
}

std::vector<Tensor> CapturedGraph::run(std::span<const Tensor> inputs, const Device& device) const {
  const std::vector<Spec>& wanted = program().inputs;
  if (inputs.size() != wanted.size()) {
    refuse("run", str_cat(inputs.size(), " inputs; the graph has ", wanted.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].spec() != wanted[i]) {
      refuse("run", str_cat("input ", i, " is ", inputs[i].spec().str(), ", the graph's is ",
                            wanted[i].str()));
    }
    if (inputs[i].requires_grad() && grad_enabled()) {
      throw Error(absl::FailedPreconditionError(
          str_cat("run: input ", i,
                  " is tracked, and a captured graph has no gradients; detach it "
                  "or run it under no_grad")));
    }
  }
  dispatch::DeviceState& state = device.state();
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(dispatch::transfer(input.value(), device));
  std::vector<Tensor> outputs;
  for (Value& value : dispatch::replay(program(), state, values, state_->on(state))) {
    outputs.emplace_back(std::move(value));
  }
  return outputs;
}

void CapturedGraph::unload(const Device& device) const {
  const absl::MutexLock lock(&state_->mutex);
  state_->resident.erase(&device.state());
}

std::string CapturedGraph::str() const { return list_program(program()); }
std::string CapturedGraph::dot() const { return draw_program(program()); }

void CapturedGraph::save(const std::filesystem::path& path) const {
  throw_if_error(
      io::prefixed(str_cat("save: ", path.string()), io::write_captured(path, program())));
}

CapturedGraph CapturedGraph::load(const std::filesystem::path& path) {
  absl::StatusOr<dispatch::CapturedProgram> program = io::read_captured(path);
  throw_if_error(io::prefixed(str_cat("load: ", path.string()), program.status()));
  return CapturedGraph(*std::move(program));
}

std::ostream& operator<<(std::ostream& out, const CapturedGraph& graph) {
  return out << graph.str();
}

}  // namespace remora::capture
