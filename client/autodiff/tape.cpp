// Walking the tape backwards.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "client/autodiff/autodiff.h"
#include "client/autodiff/gradients.h"
#include "client/autodiff/node.h"
#include "client/autodiff/recomputation.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::autodiff {

namespace {

using NodePtr = std::shared_ptr<Node>;
/// A node of a walk and what it kept when the walk came by: another thread may consume it since.
struct Step {
  NodePtr node;
  std::shared_ptr<const Kept> kept;  // null of a leaf

  std::span<const Edge> edges() const { return kept ? kept->edges : std::span<const Edge>(); }
};
using Cotangents = absl::InlinedVector<Tensor, 1>;

[[noreturn]] void fail_precondition(std::string_view message) {
  throw Error(absl::FailedPreconditionError(std::string(message)));
}

[[noreturn]] void fail_consumed(const Node& node) {
  fail_precondition(str_cat("backward: the tape through '", node.name(),
                            "' was consumed by an earlier backward; keep it with keep_tape"));
}

/// A walk from outputs towards the nodes whose gradients are wanted: all leaves, or `targets`.
class Walk {
 public:
  /// Without `targets` every leaf is wanted.
  Walk(std::span<const Tensor> outputs, const absl::flat_hash_set<const Node*>* targets);

  void seed(const Tensor& output, const Tensor& cotangent) {
    add(output.edge().node.get(), output.edge().output, cotangent);
  }
  /// Runs every rule on the way; cotangents of wanted nodes remain.
  void run();
  /// The cotangent of a wanted node's output; undefined if nothing depends on it.
  Tensor cotangent(const Edge& edge) const;
  std::span<const Step> steps() const { return steps_; }
  bool wanted(const Node* node) const {
    return targets_ == nullptr ? node->kind() == Node::Kind::kLeaf : targets_->contains(node);
  }
  /// Makes the walked nodes let go of everything they keep. Throws if another thread was first: of
  /// two backwards over one tape one wins.
  void consume();

 private:
  void collect(std::span<const Tensor> outputs);
  void mark_needed();
  void add(const Node* node, uint32_t output, const Tensor& cotangent);
  void differentiate(const Step& step, std::span<const Tensor> cotangents);

  const absl::flat_hash_set<const Node*>* targets_;
  std::vector<Step> steps_;  // reachable and needed, newest first
  absl::flat_hash_set<const Node*> needed_;
  absl::flat_hash_map<const Node*, Cotangents> cotangents_;
  Recomputation recomputation_;
};

Walk::Walk(std::span<const Tensor> outputs, const absl::flat_hash_set<const Node*>* targets)
    : targets_(targets) {
  collect(outputs);
  std::sort(steps_.begin(), steps_.end(),
            [](const Step& a, const Step& b) { return a.node->sequence() > b.node->sequence(); });
  mark_needed();
}

void Walk::collect(std::span<const Tensor> outputs) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<std::shared_ptr<const Kept>> pending;
  const auto visit = [&](const NodePtr& node) {
    if (node == nullptr || !seen.insert(node.get()).second) return;
    steps_.push_back({node, node->kept()});
    if (steps_.back().kept != nullptr) pending.push_back(steps_.back().kept);
  };
  for (const Tensor& output : outputs) visit(output.edge().node);
  while (!pending.empty()) {
    const std::shared_ptr<const Kept> kept = std::move(pending.back());
    pending.pop_back();
    for (const Edge& edge : kept->edges) visit(edge.node);
  }
}

void Walk::mark_needed() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const Node& node = *step->node;
    bool needed = wanted(&node);
    if (!step->kept && node.kind() != Node::Kind::kLeaf && !needed) fail_consumed(node);
    for (const Edge& edge : step->edges()) needed |= needed_.contains(edge.node.get());
    if (needed) needed_.insert(&node);
  }
  std::erase_if(steps_, [&](const Step& step) { return !needed_.contains(step.node.get()); });
}

void Walk::add(const Node* node, uint32_t output, const Tensor& cotangent) {
  Cotangents& slots = cotangents_[node];
  if (slots.size() <= output) slots.resize(output + 1);
  slots[output] = slots[output].defined() ? remora::add(slots[output], cotangent) : cotangent;
}

void Walk::run() {
  for (const Step& step : steps_) {
    if (step.kept) recomputation_.expect(*step.kept);
  }
  for (const Step& step : steps_) {
    const NodePtr& node = step.node;
    if (!step.kept) continue;  // nothing lies behind it
    if (const auto found = cotangents_.find(node.get()); found != cotangents_.end()) {
      Cotangents cotangents = found->second;
      if (!wanted(node.get())) cotangents_.erase(found);
      cotangents.resize(node->output_specs().size());
      differentiate(step, cotangents);
    }
    recomputation_.done(*step.kept);
  }
}

void Walk::differentiate(const Step& step, std::span<const Tensor> cotangents) {
  const NodePtr& node = step.node;
  absl::InlinedVector<bool, 4> needs;
  for (const Edge& edge : step.edges()) {
    needs.push_back(edge.node != nullptr && needed_.contains(edge.node.get()));
  }
  if (std::find(needs.begin(), needs.end(), true) == needs.end()) return;
  if (node->kind() == Node::Kind::kTransfer) {
    const Edge& edge = step.edges()[0];
    add(edge.node.get(), edge.output, cotangents[0].to(node->source_device()));
    return;
  }
  const RuleContext context(node, *step.kept, recomputation_, cotangents, needs);
  const Gradients gradients = gradient_rule(node->code()).backward(context);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!needs[i] || !gradients[i].defined()) continue;
    if (gradients[i].shape() != node->input_specs()[i].shape) {
      throw Error(absl::InternalError(str_cat("gradient of ", node->name(), ": shape ",
                                              gradients[i].shape().str(), " for an input of ",
                                              node->input_specs()[i].shape.str())));
    }
    add(step.edges()[i].node.get(), step.edges()[i].output, gradients[i]);
  }
}

Tensor Walk::cotangent(const Edge& edge) const {
  const auto found = cotangents_.find(edge.node.get());
  if (found == cotangents_.end() || edge.output >= found->second.size()) return {};
  return found->second[edge.output];
}

void Walk::consume() {
  for (const Step& step : steps_) {
    if (step.kept && !step.node->consume()) fail_consumed(*step.node);
  }
}

/// The cotangent to start from.
Tensor start(std::string_view name, const Tensor& output, const Tensor& cotangent) {
  if (!output.requires_grad()) {
    fail_precondition(str_cat(name, ": the tensor ", output.spec().str(),
                              " is not tracked: no operand had require_grad() on an autodiff "
                              "device, or it was made under no_grad"));
  }
  if (!cotangent.defined()) {
    if (output.numel() != 1) {
      refuse(name, str_cat("a tensor of shape ", output.shape().str(),
                           " needs a cotangent; only one element starts from 1"));
    }
    return full_like(output.inner(), Scalar(1.0));
  }
  if (cotangent.spec() != output.spec()) {
    refuse(name, str_cat("the cotangent is ", cotangent.spec().str(), ", the tensor ",
                         output.spec().str()));
  }
  return cotangent;
}

/// Adds the walk's leaf gradients to what the leaves hold, and consumes the tape unless it is kept:
/// computes every sum first, so that a throw leaves all leaves as they were.
void accumulate(Walk& walk, bool keep_tape) {
  struct Update {
    Node* leaf;
    Tensor gradient;
    std::optional<Tensor> before;
    Tensor after;
  };
  std::vector<Update> updates;
  for (const Step& step : walk.steps()) {
    const NodePtr& node = step.node;
    if (node->kind() != Node::Kind::kLeaf) continue;
    const Tensor gradient = walk.cotangent(Edge{node, 0});
    if (!gradient.defined()) continue;
    const std::optional<Tensor> before = node->gradient();
    updates.push_back({node.get(), gradient, before, before ? add(*before, gradient) : gradient});
  }
  if (!keep_tape) walk.consume();
  for (Update& update : updates) {
    while (!update.leaf->replace_gradient(update.before, update.after)) {
      update.before = update.leaf->gradient();
      update.after = update.before ? add(*update.before, update.gradient) : update.gradient;
    }
  }
}

}  // namespace

void backward(const Tensor& output, const Tensor& cotangent, bool keep_tape) {
  const dispatch::CallScope scope;
  const NoGrad guard;
  const Tensor seed = start("backward", output, cotangent).inner();
  decide_young();
  Walk walk({&output, 1}, nullptr);
  walk.seed(output, seed);
  walk.run();
  accumulate(walk, keep_tape);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> cotangents, GradOptions options) {
  const dispatch::CallScope scope;
  std::optional<NoGrad> guard;
  if (!options.create_graph) guard.emplace();
  if (cotangents.size() != outputs.size()) {
    refuse("grad", str_cat(outputs.size(), " outputs with ", cotangents.size(), " cotangents"));
  }
  absl::flat_hash_set<const Node*> targets;
  for (const Tensor& input : inputs) {
    if (!input.requires_grad()) {
      fail_precondition(str_cat("grad: the input ", input.spec().str(), " is not tracked"));
    }
    targets.insert(input.edge().node.get());
  }
  std::vector<Tensor> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor seed = start("grad", outputs[i], cotangents[i]);
    seeds.push_back(options.create_graph ? seed : seed.inner());
  }
  decide_young();
  Walk walk(outputs, &targets);
  for (size_t i = 0; i < outputs.size(); ++i) walk.seed(outputs[i], seeds[i]);
  walk.run();
  std::vector<Tensor> gradients;
  for (const Tensor& input : inputs) {
    const Tensor gradient = walk.cotangent(input.edge());
    gradients.push_back(gradient.defined() ? gradient : zeros_like(input.inner()));
  }
  if (!options.keep_tape && !options.create_graph) walk.consume();
  return gradients;
}

std::vector<Tensor> grad(const Tensor& output, std::span<const Tensor> inputs,
                         const Tensor& cotangent, GradOptions options) {
  return grad({&output, 1}, inputs, {&cotangent, 1}, options);
}

}  // namespace remora::autodiff
