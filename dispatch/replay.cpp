#include "dispatch/replay.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "dispatch/limits.h"
#include "dispatch/submit.h"

namespace remora::dispatch {
namespace {

using Kind = CapturedSource::Kind;

class Replay {
 public:
  Replay(const CapturedProgram& program, DeviceState& device, std::span<const Value> inputs,
         std::span<const Value> initializers)
      : program_(program), device_(device), inputs_(inputs), initializers_(initializers) {}

  Values run() {
    if (program_.graph != nullptr) {
      results_.resize(program_.graph->outputs.size());
      if (runs_whole()) {
        hand_over();
      } else {
        submit_each();
      }
    }
    Values outputs;
    for (const CapturedSource& source : program_.outputs) outputs.push_back(value_of(source));
    return outputs;
  }

 private:
  const Value& value_of(const CapturedSource& source) const {
    if (source.kind == Kind::kInput) return inputs_[source.index];
    if (source.kind == Kind::kInitializer) return initializers_[source.index];
    return results_[source.index];
  }

  /// Looks at every op, so that what is refused is refused before anything runs.
  bool runs_whole() const {
    const Graph& graph = *program_.graph;
    bool whole = graph.ops.size() <= kMaxWindowOps && device_.backend().capture() == nullptr;
    absl::InlinedVector<Spec, 4> specs;
    for (const GraphOp& op : graph.ops) {
      specs.clear();
      for (const Position position : op.inputs) specs.push_back(graph.spec(position));
      const auto outputs =
          std::span(graph.outputs).subspan(op.first_output, static_cast<size_t>(op.info->outputs));
      if (!is_native(*op.info, specs, outputs, device_)) whole = false;
    }
    return whole;
  }

  void hand_over() {
    const Graph& graph = *program_.graph;
    WindowRun run;
    run.graph = program_.graph;
    run.params = program_.params;
    for (const GraphOp& op : graph.ops) draw(op, run.params);
    for (const CapturedSource& source : program_.externals) {
      const Value& value = value_of(source);
      Recorder::end_window_of(value);
      run.inputs.push_back(value);
    }
    run.consumed.assign(run.inputs.size(), false);  // the caller and the graph hold them
    run.live.assign(graph.outputs.size(), false);
    run.window = next_window_number();
    for (const CapturedSource& source : program_.outputs) {
      if (source.kind != Kind::kResult) continue;
      run.live[source.index] = true;
      results_[source.index] =
          Value::make(ValueId(run.window, source.index), graph.outputs[source.index], &device_);
    }
    run.outputs = results_;
    Recorder::current().hand_over(device_, std::move(run));
  }

  /// Puts the generator's state into the slots of a draw.
  void draw(const GraphOp& op, std::vector<uint64_t>& params) const {
    if (!std::holds_alternative<RandomAttrs>(op.attrs)) return;
    RandomAttrs attrs = std::get<RandomAttrs>(op.attrs);
    const Generator generator =
        Recorder::take_offsets(device_, draw_offsets(program_.graph->outputs[op.first_output]));
    attrs.seed = generator.seed;
    attrs.offset = generator.offset;
    std::vector<uint64_t> slots;
    append_params(attrs, slots);
    std::ranges::copy(slots, params.begin() + op.first_param);
  }

  void submit_each() {
    const CallScope scope;
    const Graph& graph = *program_.graph;
    for (const GraphOp& op : graph.ops) {
      absl::InlinedVector<Value, 4> operands;
      for (const Position position : op.inputs) {
        operands.push_back(position.is_external() ? value_of(program_.externals[position.index()])
                                                  : results_[position.index()]);
      }
      const Attrs attrs = program_.attrs_of(op);
      const Device device = device_.device();
      if (std::holds_alternative<RandomAttrs>(attrs)) {
        results_[op.first_output] =
            submit_random(op.info->code, graph.outputs[op.first_output], device);
        continue;
      }
      Values values = submit(op.info->code, operands, attrs, &device);
      std::ranges::move(values, results_.begin() + op.first_output);
    }
  }

  const CapturedProgram& program_;
  DeviceState& device_;
  const std::span<const Value> inputs_;
  const std::span<const Value> initializers_;
  std::vector<Value> results_;  // by Graph::outputs
};

}  // namespace

Values replay(const CapturedProgram& program, DeviceState& device, std::span<const Value> inputs,
              std::span<const Value> initializers) {
  return Replay(program, device, inputs, initializers).run();
}

}  // namespace remora::dispatch
