#include "client/autodiff/node.h"

#include <atomic>
#include <utility>
#include <vector>

#include "client/autodiff/gradients.h"

namespace remora::autodiff {

namespace {

std::atomic<uint64_t> next_sequence{1};
std::atomic<int64_t> node_count{0};

/// Where a thread that is destroying a node puts the nodes it lets go of, so that a long chain is
/// freed in a loop instead of a recursion.
thread_local std::vector<std::shared_ptr<Node>>* released = nullptr;

}  // namespace

int64_t live_nodes() { return node_count.load(std::memory_order_relaxed); }

Node::Node(Kind kind, AutodiffContext context)
    : kind_(kind),
      sequence_(next_sequence.fetch_add(1, std::memory_order_relaxed)),
      context_(context) {
  node_count.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() { node_count.fetch_sub(1, std::memory_order_relaxed); }

std::shared_ptr<Node> Node::leaf(AutodiffContext context) {
  return std::make_shared<Node>(Kind::kLeaf, context);
}

std::shared_ptr<Node> Node::transfer(const Tensor& source) {
  auto node = std::make_shared<Node>(Kind::kTransfer, source.context());
  auto kept = std::make_shared<Kept>();
  kept->edges.push_back(source.edge());
  node->input_specs_.push_back(source.spec());
  node->output_specs_.push_back(source.spec());
  node->source_device_ = source.value()->device().device();
  const absl::MutexLock lock(&node->mutex_);
  node->kept_ = std::move(kept);
  return node;
}

namespace {

Saved save(const dispatch::Value& value, std::span<const SavedPtr> remembered, size_t index) {
  if (remembered.empty()) return {value, {}};
  return {{}, use_by_tape(remembered[index], value)};
}

}  // namespace

std::shared_ptr<Node> Node::op(dispatch::OpCode code, dispatch::Attrs attrs,
                               std::span<const Tensor> inputs,
                               std::span<const dispatch::Value> outputs, AutodiffContext context,
                               const Remembered& remembered) {
  auto node = std::make_shared<Node>(Kind::kOp, context);
  auto kept = std::make_shared<Kept>();
  const GradientRule& rule = gradient_rule(code);
  node->code_ = code;
  node->attrs_ = std::move(attrs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    kept->edges.push_back(inputs[i].edge());
    node->input_specs_.push_back(inputs[i].spec());
    const bool used = rule.saves_input(i) && (!rule.bilinear || inputs[1 - i].requires_grad());
    kept->saved_inputs.push_back(used ? save(inputs[i].value(), remembered.inputs, i) : Saved());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    node->output_specs_.push_back(outputs[i]->spec());
    kept->saved_outputs.push_back(rule.saves_output(i) ? save(outputs[i], remembered.outputs, i)
                                                       : Saved());
  }
  const absl::MutexLock lock(&node->mutex_);
  node->kept_ = std::move(kept);
  return node;
}

std::string_view Node::name() const {
  switch (kind_) {
    case Kind::kLeaf:
      return "leaf";
    case Kind::kTransfer:
      return "to";
    case Kind::kOp:
      return dispatch::op_name(code_);
  }
  return "?";
}

Kept::~Kept() {
  std::vector<std::shared_ptr<Node>> own;
  const bool outermost = released == nullptr;
  if (outermost) released = &own;
  for (Edge& edge : edges) {
    if (edge.node != nullptr) released->push_back(std::move(edge.node));
  }
  if (!outermost) return;
  while (!own.empty()) {
    const std::shared_ptr<Node> last = std::move(own.back());
    own.pop_back();
  }
  released = nullptr;
}

std::shared_ptr<const Kept> Node::kept() const {
  absl::MutexLock lock(&mutex_);
  return kept_;
}

bool Node::consume() {
  std::shared_ptr<const Kept> kept;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  kept.swap(kept_);
  return kept != nullptr;
}

std::optional<Tensor> Node::gradient() const {
  absl::MutexLock lock(&mutex_);
  return gradient_;
}

std::optional<Tensor> Node::exchange_gradient(std::optional<Tensor> gradient) {
  absl::MutexLock lock(&mutex_);
  return std::exchange(gradient_, std::move(gradient));
}

bool Node::replace_gradient(const std::optional<Tensor>& expected, const Tensor& gradient) {
  absl::MutexLock lock(&mutex_);
  const bool same = gradient_.has_value() == expected.has_value() &&
                    (!expected.has_value() || gradient_->value() == expected->value());
  if (same) gradient_ = gradient;
  return same;
}

OpOutputs record(dispatch::OpCode code, dispatch::Attrs attrs, std::span<const Tensor> inputs,
                 std::span<const dispatch::Value> results, AutodiffContext context,
                 const Remembered& remembered) {
  const std::shared_ptr<Node> node =
      Node::op(code, std::move(attrs), inputs, results, context, remembered);
  OpOutputs outputs;
  for (uint32_t i = 0; i < results.size(); ++i) {
    const bool differentiable = is_float(results[i]->spec().dtype);
    outputs.emplace_back(results[i], context, differentiable ? Edge{node, i} : Edge{},
                         remembered.outputs.empty() ? nullptr : remembered.outputs[i]);
  }
  return outputs;
}

}  // namespace remora::autodiff
