#include "kernels/cpu/plan.h"

#include <algorithm>
#include <limits>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/views.h"

namespace remora::cpu {

using dispatch::GraphOp;
using dispatch::Position;

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// The storage an element lies in, from the device's own buffers.
std::byte* first_element(const dispatch::Buffer& buffer) {
  const auto& storage = static_cast<const CpuStorage&>(*buffer.storage);
  return storage.data() + buffer.offset * dtype_size(buffer.spec.dtype);
}

absl::InlinedVector<Spec, 4> input_specs(const dispatch::Graph& graph, const GraphOp& op) {
  absl::InlinedVector<Spec, 4> specs;
  for (const Position position : op.inputs) specs.push_back(graph.spec(position));
  return specs;
}

std::span<const Spec> output_specs(const dispatch::Graph& graph, const GraphOp& op) {
  return std::span(graph.outputs).subspan(op.first_output, static_cast<size_t>(op.info->outputs));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuPlan>> CpuPlan::prepare(const KernelTable& kernels,
                                                          dispatch::GraphPtr graph,
                                                          const dispatch::LiveSet& live,
                                                          int threads) {
  std::unique_ptr<CpuPlan> plan(
      new CpuPlan(kernels, std::move(graph), live));  // the constructor is private
  REMORA_RETURN_IF_ERROR(plan->add_steps());
  plan->add_units();
  plan->plan_lifetimes(threads);
  return plan;
}

absl::Status CpuPlan::add_steps() {
  if (live_.size() != graph_->outputs.size()) {
    return absl::InvalidArgumentError(str_cat("prepare: the live set has ", live_.size(),
                                              " entries for ", graph_->outputs.size(), " outputs"));
  }
  for (const Spec& spec : graph_->outputs)
    output_strides_.push_back(contiguous_strides(spec.shape));
  steps_.reserve(graph_->ops.size());
  for (const GraphOp& op : graph_->ops) {
    const auto inputs = input_specs(*graph_, op);
    const auto outputs = output_specs(*graph_, op);
    if (const auto* slice = std::get_if<dispatch::SliceAttrs>(&op.attrs)) {
      REMORA_RETURN_IF_ERROR(check_slice_fits(op.info->name, *slice, inputs[0].shape));
    }
    Step step;
    step.kernel = kernels_.find(op.info->code);
    step.in_f32 = computes_in_f32(*op.info, dispatch::op_dtype(*op.info, inputs, outputs));
    step.op = &op;
    step.attrs = op.attrs;
    step.is_view = is_view_op(*op.info, inputs, outputs);
    steps_.push_back(std::move(step));
  }
  inputs_.resize(graph_->inputs.size());
  outputs_.resize(graph_->outputs.size());
  return absl::OkStatus();
}

void CpuPlan::add_units() {
  std::vector<bool> is_view;
  is_view.reserve(steps_.size());
  for (const Step& step : steps_) is_view.push_back(step.is_view);
  groups_ = find_fused_groups(kernels_, *graph_, live_, is_view);
  auto group = groups_.begin();
  for (uint32_t first = 0; first < steps_.size();) {
    Unit unit{first, first + 1, nullptr, {}};
    if (group != groups_.end() && group->first == first) {
      unit.last = group->last;
      unit.group = &*group++;
    }
    first = unit.last;
    units_.push_back(std::move(unit));
  }
}

/// A view holds its operand's storage, so a storage lives as long as its last view.
/// Where only the run can tell whether a reshape is a view or a copy, both are counted.
void CpuPlan::plan_lifetimes(int threads) {
  constexpr uint32_t kNone = ~0u;
  const size_t count = graph_->outputs.size();
  std::vector<uint32_t> last_use(count), operand_of_view(count, kNone);  // units, outputs
  std::vector<bool> contiguous(count, true);
  std::vector<int64_t> own_bytes(count), scratch(units_.size());
  for (uint32_t unit = 0; unit < units_.size(); ++unit) {
    for (uint32_t index = units_[unit].first; index < units_[unit].last; ++index) {
      const Step& step = steps_[index];
      for (const Position position : step.op->inputs) {
        if (!position.is_external()) last_use[position.index()] = unit;
      }
      for (uint32_t k = 0; k < static_cast<uint32_t>(step.op->info->outputs); ++k) {
        const uint32_t output = step.op->first_output + k;
        last_use[output] = unit;
        own_bytes[output] = graph_->outputs[output].byte_size();
        if (!step.is_view) continue;
        const Position operand = step.op->inputs[0];
        if (!operand.is_external()) operand_of_view[output] = operand.index();
        const bool known = !operand.is_external() && contiguous[operand.index()];
        const bool reshape = step.op->info->code == dispatch::OpCode::reshape;
        contiguous[output] = known && reshape;
        if (!reshape || known) own_bytes[output] = 0;
      }
      if (units_[unit].group == nullptr) scratch[unit] = scratch_bound(step, contiguous, threads);
    }
  }
  for (const FusedGroup& group : groups_) {
    for (const uint32_t output : group.temporaries) own_bytes[output] = 0;
  }
  for (uint32_t output = 0; output < count; ++output) {
    if (live_[output]) {
      last_use[output] = kNone;
    } else {
      units_[last_use[output]].releases.push_back(output);
    }
  }
  // Backwards, so that a view of a view reaches the first storage.
  std::vector<uint32_t> storage_end = last_use;
  for (size_t output = count; output-- > 0;) {
    const uint32_t operand = operand_of_view[output];
    if (operand != kNone)
      storage_end[operand] = std::max(storage_end[operand], storage_end[output]);
  }
  std::vector<std::vector<uint32_t>> ending(units_.size());
  for (uint32_t output = 0; output < count; ++output) {
    if (storage_end[output] != kNone) ending[storage_end[output]].push_back(output);
  }
  int64_t bytes = 0;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (uint32_t index = units_[unit].first; index < units_[unit].last; ++index) {
      const GraphOp& op = *steps_[index].op;
      for (uint32_t k = 0; k < static_cast<uint32_t>(op.info->outputs); ++k)
        bytes = capped_sum(bytes, own_bytes[op.first_output + k], kNoLimit);
    }
    peak_bytes_ = std::max(peak_bytes_, capped_sum(bytes, scratch[unit], kNoLimit));
    for (const uint32_t output : ending[unit])
      bytes = std::max<int64_t>(bytes - own_bytes[output], 0);
  }
}

/// Scratch memory of a step, with copies of operands that this graph makes strided. An external
/// input may be strided too, which only a run knows: its copy comes from the pool, under the
/// device's limit, and is not reserved ahead, since most inputs are dense and a session must be
/// able to use tensors larger than half its quota.
int64_t CpuPlan::scratch_bound(const Step& step, const std::vector<bool>& contiguous,
                               int threads) const {
  const auto inputs = input_specs(*graph_, *step.op);
  const auto outputs = output_specs(*graph_, *step.op);
  const dispatch::OpInfo& info = *step.op->info;
  int64_t bytes = kernels_.scratch_bytes(info, inputs, outputs, step.attrs, threads);
  if (!packs_operands(info, dispatch::op_dtype(info, inputs, outputs))) return bytes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Position position = step.op->inputs[i];
    if (!position.is_external() && !contiguous[position.index()])
      bytes = capped_sum(bytes, inputs[i].byte_size(), kNoLimit);
  }
  return bytes;
}

CpuPlan::Slot& CpuPlan::slot(Position position) {
  return position.is_external() ? inputs_[position.index()] : outputs_[position.index()];
}

TensorView CpuPlan::view_of(Position position) {
  const Slot& value = slot(position);
  const Spec& spec = graph_->spec(position);
  return {value.data, spec.dtype, spec.shape.sizes(), value.strides};
}

absl::Status CpuPlan::bind_inputs(const dispatch::RunRequest& request) {
  if (request.inputs.size() != inputs_.size() || request.params.size() != graph_->params) {
    return absl::InternalError(str_cat("run: ", request.inputs.size(), " inputs and ",
                                       request.params.size(), " params for a graph of ",
                                       inputs_.size(), " and ", graph_->params));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const dispatch::Buffer& buffer = request.inputs[i];
    if (buffer.storage == nullptr || !(buffer.spec == graph_->inputs[i])) {
      return absl::InternalError(str_cat("run: input ", i, " is ", buffer.spec.str(),
                                         " where the graph has ", graph_->inputs[i].str()));
    }
    inputs_[i].storage = buffer.storage;
    inputs_[i].data = first_element(buffer);
    inputs_[i].strides = buffer.strides;
  }
  return absl::OkStatus();
}

void CpuPlan::clear_slots() {
  for (Slot& value : inputs_) value.storage.reset();
  for (Slot& value : outputs_) value.storage.reset();
}

bool CpuPlan::run_view(Step& step, absl::Status& failure) {
  const Position operand = step.op->inputs[0];
  const uint32_t output = step.op->first_output;
  const Spec& spec = graph_->outputs[output];
  View view;
  if (!make_view(step.op->info->code, step.attrs, view_of(operand), spec.shape.sizes(), view,
                 failure)) {
    return false;
  }
  const Slot& source = slot(operand);
  Slot& target = outputs_[output];
  target.storage = source.storage;
  target.data = source.data + view.offset * dtype_size(spec.dtype);
  target.strides = std::move(view.strides);
  return true;
}

absl::Status CpuPlan::run_kernel(Step& step, const std::shared_ptr<DeviceMemory>& memory,
                                 ThreadPool& threads) {
  input_views_.clear();
  output_views_.clear();
  for (const Position position : step.op->inputs) input_views_.push_back(view_of(position));
  for (uint32_t k = 0; k < static_cast<uint32_t>(step.op->info->outputs); ++k)
    REMORA_RETURN_IF_ERROR(add_output(step.op->first_output + k, memory));
  const KernelCall call{input_views_, output_views_, step.attrs, threads, memory->pool};
  return step.in_f32 ? kernels_.run_in_f32(call, step.kernel) : step.kernel(call);
}

/// Memory for an output of the graph, and its view for the kernel.
absl::Status CpuPlan::add_output(uint32_t output, const std::shared_ptr<DeviceMemory>& memory) {
  const Spec& spec = graph_->outputs[output];
  REMORA_ASSIGN_OR_RETURN(auto storage, CpuStorage::allocate(memory, spec.byte_size()));
  Slot& value = outputs_[output];
  value.data = storage->data();
  value.storage = std::move(storage);
  value.strides = output_strides_[output];
  output_views_.push_back({value.data, spec.dtype, spec.shape.sizes(), output_strides_[output]});
  return absl::OkStatus();
}

absl::Status CpuPlan::run_step(Step& step, const std::shared_ptr<DeviceMemory>& memory,
                               ThreadPool& threads, const dispatch::RunRequest& request) {
  if (step.op->params > 0) {
    dispatch::set_params(step.attrs, request.params.subspan(step.op->first_param, step.op->params));
  }
  absl::Status failure;
  if (step.is_view && run_view(step, failure)) return failure;
  return run_kernel(step, memory, threads);
}

absl::Status CpuPlan::run_group(const FusedGroup& group,
                                const std::shared_ptr<DeviceMemory>& memory, ThreadPool& threads) {
  if (group.results.empty()) return absl::OkStatus();  // nobody wants any of it
  input_views_.clear();
  output_views_.clear();
  for (const Position position : group.operands) input_views_.push_back(view_of(position));
  for (const uint32_t output : group.results) REMORA_RETURN_IF_ERROR(add_output(output, memory));
  static const dispatch::Attrs kNoAttrs;
  kernels_.run_fused(group.program, {input_views_, output_views_, kNoAttrs, threads, memory->pool});
  return absl::OkStatus();
}

dispatch::RunResult CpuPlan::run(const std::shared_ptr<DeviceMemory>& memory, ThreadPool& threads,
                                 const dispatch::RunRequest& request) {
  dispatch::RunResult result;
  result.status = bind_inputs(request);
  // RESOURCE_EXHAUSTED ends the run, any other failure is its op's alone.
  const auto settle = [&](uint32_t index, absl::Status failure) {
    if (absl::IsResourceExhausted(failure)) {
      result.status = absl::ResourceExhaustedError(
          str_cat(steps_[index].op->info->name, ": ", std::string(failure.message())));
    } else if (!failure.ok()) {
      result.failures.push_back({index, std::move(failure)});
    }
  };
  for (const Unit& unit : units_) {
    for (uint32_t index = unit.first; index < unit.last && result.status.ok(); ++index) {
      if (unit.group == nullptr || steps_[index].is_view)
        settle(index, run_step(steps_[index], memory, threads, request));
    }
    if (unit.group != nullptr && result.status.ok())
      settle(unit.first, run_group(*unit.group, memory, threads));
    if (!result.status.ok()) break;
    for (const uint32_t output : unit.releases) outputs_[output].storage.reset();
  }
  if (result.status.ok()) {
    result.outputs = take_outputs();
  } else {
    result.failures.clear();
  }
  clear_slots();
  return result;
}

std::vector<dispatch::Buffer> CpuPlan::take_outputs() {
  std::vector<dispatch::Buffer> buffers(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!live_[i]) continue;
    Slot& value = outputs_[i];
    const Spec& spec = graph_->outputs[i];
    const std::byte* begin = static_cast<const CpuStorage&>(*value.storage).data();
    buffers[i].spec = spec;
    buffers[i].offset = value.data == nullptr ? 0 : (value.data - begin) / dtype_size(spec.dtype);
    buffers[i].strides = value.strides;
    buffers[i].storage = std::move(value.storage);
  }
  return buffers;
}

}  // namespace remora::cpu
