// How an open scope becomes a graph: what the outputs need, in recording order, with every operand
// brought to its place.
#include <algorithm>
#include <utility>

#include "dispatch/capture.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"

namespace remora::dispatch {
namespace {

using Kind = CapturedSource::Kind;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(absl::InvalidArgumentError(str_cat("complete: ", what)));
}

}  // namespace

/// Works on a copy of the scope, so that waiting holds no lock.
class CaptureRecorder::Completion {
 public:
  Completion(Device device, Scope scope, std::span<const Value> inputs,
             std::span<const Value> outputs)
      : device_(device), scope_(std::move(scope)), inputs_(inputs), outputs_(outputs) {}

  CapturedProgram run() {
    check_inputs();
    check_outputs();
    find_needed();
    for (size_t i = 0; i < scope_.ops.size(); ++i) {
      if (needed_[i]) add(scope_.ops[i], i);
    }
    for (const Value& output : outputs_) program_.outputs.push_back(source_of(output));
    if (!builder_.empty()) program_.graph = builder_.finish(program_.params);
    return std::move(program_);
  }

 private:
  void check_mine(std::string_view which, size_t index, const Value& value) const {
    if (value->device().device() != device_) {
      refuse(str_cat(which, " ", index, " is a tensor of ", value->device().device().str(),
                     ", unknown to the scope on ", device_.str()));
    }
    if (scope_.origins.contains(value.get()) || !value->settled() || !value->poisoned()) return;
    refuse(str_cat(which, " ", index,
                   " is unknown to this scope: ", std::string(value->error().message())));
  }

  void check_inputs() {
    listed_.assign(scope_.inputs.size(), -1);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      check_mine("input", i, inputs_[i]);
      const auto origin = scope_.origins.find(inputs_[i].get());
      if (origin == scope_.origins.end()) {
        refuse(str_cat("input ", i, " (", inputs_[i]->spec().str(),
                       ") was not declared: it is host data; scope.input() declares one"));
      }
      if (origin->second.op >= 0) {
        const RecordedOp& op = scope_.ops[static_cast<size_t>(origin->second.op)];
        refuse(str_cat("input ", i, " (", inputs_[i]->spec().str(),
                       ") is a product of the graph, of ", op.info->name,
                       "; an input is what scope.input() gave"));
      }
      int64_t& listed = listed_[origin->second.index];
      if (listed >= 0) refuse(str_cat("input ", i, " is a duplicate of input ", listed));
      listed = static_cast<int64_t>(i);
      program_.inputs.push_back(inputs_[i]->spec());
    }
  }

  void check_outputs() const {
    if (outputs_.empty()) refuse("there is no output");
    absl::flat_hash_map<const ValueNode*, size_t> seen;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      check_mine("output", i, outputs_[i]);
      const auto [first, is_new] = seen.try_emplace(outputs_[i].get(), i);
      if (!is_new) refuse(str_cat("output ", i, " is a duplicate of output ", first->second));
    }
  }

  void find_needed() {
    needed_.assign(scope_.ops.size(), false);
    for (const Value& output : outputs_) need(output);
    for (size_t i = scope_.ops.size(); i-- > 0;) {
      // A draw moves the generator, so it is kept even where nobody looks at what it gives.
      if (std::holds_alternative<RandomAttrs>(scope_.ops[i].attrs)) needed_[i] = true;
      if (!needed_[i]) continue;
      for (const Value& input : scope_.ops[i].inputs) need(input);
    }
  }

  void need(const Value& value) {
    const auto origin = scope_.origins.find(value.get());
    if (origin == scope_.origins.end()) return;
    if (origin->second.op >= 0) {
      needed_[static_cast<size_t>(origin->second.op)] = true;
    } else if (listed_[origin->second.index] < 0) {
      refuse(str_cat("the outputs need the declared input ", origin->second.index, " (",
                     value->spec().str(), "), which is not among the inputs"));
    }
  }

  void add(const RecordedOp& op, size_t index) {
    absl::InlinedVector<Position, 4> positions;
    absl::InlinedVector<Spec, 2> specs;
    for (const Value& input : op.inputs) positions.push_back(position_of(input));
    for (const Value& output : op.outputs) specs.push_back(output->spec());
    first_output_.resize(scope_.ops.size());
    first_output_[index] = builder_.add_op(*op.info, positions, op.attrs, specs);
  }

  Position position_of(const Value& value) {
    const CapturedSource source = source_of(value);
    if (source.kind == Kind::kResult) return Position::output(source.index);
    const auto [external, is_new] = externals_.try_emplace(
        std::pair(source.kind, source.index), static_cast<uint32_t>(program_.externals.size()));
    if (is_new) {
      builder_.add_input(value->spec());
      program_.externals.push_back(source);
    }
    return Position::external(external->second);
  }

  CapturedSource source_of(const Value& value) {
    const auto origin = scope_.origins.find(value.get());
    if (origin == scope_.origins.end()) return {Kind::kInitializer, initializer_of(value)};
    const Origin& from = origin->second;
    if (from.op < 0) return {Kind::kInput, static_cast<uint32_t>(listed_[from.index])};
    return {Kind::kResult, first_output_[static_cast<size_t>(from.op)] + from.index};
  }

  uint32_t initializer_of(const Value& value) {
    const auto [index, is_new] =
        initializers_.try_emplace(value.get(), static_cast<uint32_t>(program_.initializers.size()));
    if (is_new) program_.initializers.push_back(captured_host_data(value));
    return index->second;
  }

  const Device device_;
  const Scope scope_;
  const std::span<const Value> inputs_;
  const std::span<const Value> outputs_;
  std::vector<int64_t> listed_;         // by declared input: its place among `inputs_`, or -1
  std::vector<bool> needed_;            // by op
  std::vector<uint32_t> first_output_;  // by op, in the graph
  std::map<std::pair<Kind, uint32_t>, uint32_t> externals_;
  absl::flat_hash_map<const ValueNode*, uint32_t> initializers_;
  GraphBuilder builder_;
  CapturedProgram program_;
};

CapturedProgram CaptureRecorder::complete(std::span<const Value> inputs,
                                          std::span<const Value> outputs) {
  Scope scope;
  {
    const absl::MutexLock lock(&mutex_);
    check_open("complete");
    scope = scope_;
  }
  CapturedProgram program = Completion(device_, std::move(scope), inputs, outputs).run();
  if (program.externals.size() > kMaxCapturedInputs) {
    throw Error(absl::ResourceExhaustedError(str_cat("complete: ", program.externals.size(),
                                                     " inputs and initializers, more than ",
                                                     kMaxCapturedInputs)));
  }
  end();
  return program;
}

}  // namespace remora::dispatch
