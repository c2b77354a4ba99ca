#include "client/autodiff/balanced.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dispatch/device_state.h"
#include "dispatch/op_work.h"

namespace remora::autodiff {

namespace {

using State = SavedValue::State;

thread_local const CheckpointCosts* scoped_costs = nullptr;

const CheckpointCosts& costs() {
  static constexpr CheckpointCosts kDefault;
  return scoped_costs != nullptr ? *scoped_costs : kDefault;
}

/// This thread's young values, oldest first.
class Young {
 public:
  void add(const SavedPtr& saved) {
    values_.push_back(saved);
    const size_t waiting = costs().young_values;
    if (values_.size() >= 2 * waiting) decide(values_.size() - waiting);
  }
  /// Decides the oldest `count`.
  void decide(size_t count);
  void decide_all() { decide(values_.size()); }

 private:
  std::vector<std::weak_ptr<SavedValue>> values_;
};

Young& young() {
  thread_local Young values;
  return values;
}

/// Whether a value can be had from values that are held, or from what is recomputed from those,
/// within bounds; then `work` and `length` of the way.
bool can_be_recomputed(const SavedValue& saved, const Recipe& recipe, double& work, int& length) {
  work = recipe.work;
  length = 1;
  for (const SavedUse& input : recipe.inputs) {
    const State state = input->state();
    if (state == State::kHeld) continue;
    if (state != State::kRecomputed) return false;
    work += input->chain_work();
    length = std::max(length, input->chain_length() + 1);
  }
  return length <= costs().chain_ops &&
         work <= costs().chain_work_per_byte * static_cast<double>(saved.byte_size());
}

/// `wanted_bytes`: what else would be held of the results made from it.
void decide_one(SavedValue& saved, double wanted_bytes) {
  const RecipePtr recipe = saved.recipe();
  double work = 0.0;
  int length = 0;
  if (recipe != nullptr && can_be_recomputed(saved, *recipe, work, length)) {
    saved.recompute(work, length);
  } else if (saved.tape_uses() > 0 || static_cast<double>(saved.byte_size()) < wanted_bytes) {
    saved.hold();
  } else {
    saved.forget();
  }
}

void Young::decide(size_t count) {
  std::vector<SavedPtr> alive;
  alive.reserve(values_.size());
  for (const std::weak_ptr<SavedValue>& value : values_) {
    alive.push_back(value.lock());
    if (alive.back() != nullptr && alive.back()->state() != State::kYoung) alive.back().reset();
  }
  // From the youngest back: the bytes to hold where a value is not there for what is made of it.
  absl::flat_hash_map<const SavedValue*, double> wanted_bytes;
  for (size_t i = alive.size(); i-- > 0;) {
    const SavedPtr& saved = alive[i];
    if (saved == nullptr) continue;
    const RecipePtr recipe = saved->recipe();
    if (recipe == nullptr) continue;
    const auto own_bytes = static_cast<double>(saved->byte_size());
    double bytes = own_bytes;
    if (saved->tape_uses() == 0) bytes = std::min(own_bytes, wanted_bytes[saved.get()]);
    if (bytes == 0.0) continue;
    for (const SavedUse& input : recipe->inputs) wanted_bytes[input.get().get()] += bytes;
  }
  for (size_t i = 0; i < count; ++i) {
    if (alive[i] != nullptr) decide_one(*alive[i], wanted_bytes[alive[i].get()]);
  }
  values_.erase(values_.begin(), values_.begin() + static_cast<ptrdiff_t>(count));
}

/// Null if the op is not worth running again.
RecipePtr recipe_of(dispatch::OpCode code, const dispatch::Attrs& attrs,
                    std::span<const Tensor> inputs, std::span<const SavedPtr> saved,
                    std::span<const dispatch::Value> results, const Device& device) {
  absl::InlinedVector<Spec, 4> operands;
  dispatch::Specs outputs;
  int64_t bytes = 0;
  for (const Tensor& input : inputs) operands.push_back(input.spec());
  for (const dispatch::Value& result : results) {
    outputs.push_back(result->spec());
    bytes += result->spec().byte_size();
  }
  if (bytes <= costs().held_bytes) return nullptr;
  const dispatch::OpWork work = dispatch::op_work(dispatch::op_info(code), operands, outputs);
  const double total = costs().op_work + work.bytes + work.flops / costs().flops_per_byte;
  if (total > costs().work_per_byte * static_cast<double>(bytes)) return nullptr;
  auto recipe = std::make_shared<Recipe>(Recipe{code, attrs, {}, device, total});
  for (size_t i = 0; i < saved.size(); ++i) {
    recipe->inputs.emplace_back(saved[i], SavedUse::By::kRecipe);
    const bool hold = inputs[i].is_leaf() || saved[i]->byte_size() <= costs().held_bytes;
    if (saved[i]->remember(inputs[i].value(), hold)) young().add(saved[i]);
  }
  return recipe;
}

/// A value that is not known yet.
SavedPtr new_saved(const dispatch::Value& value, RecipePtr recipe, size_t output, bool hold) {
  hold = hold || value->spec().byte_size() <= costs().held_bytes;
  auto saved =
      std::make_shared<SavedValue>(value, std::move(recipe), static_cast<uint32_t>(output), hold);
  if (!hold) young().add(saved);
  return saved;
}

}  // namespace

bool is_balanced(const AutodiffContext& context) {
  return context.enabled && context.strategy == Checkpointing::kBalanced && grad_enabled();
}

Remembered remember(dispatch::OpCode code, const dispatch::Attrs& attrs,
                    std::span<const Tensor> inputs, std::span<const dispatch::Value> results) {
  Remembered remembered;
  for (const Tensor& input : inputs) {
    // A leaf exists as long as its owner wants: it costs nothing to hold.
    remembered.inputs.push_back(input.saved() != nullptr
                                    ? input.saved()
                                    : new_saved(input.value(), nullptr, 0, input.is_leaf()));
  }
  const Device device = results[0]->device().device();
  const RecipePtr recipe = recipe_of(code, attrs, inputs, remembered.inputs, results, device);
  for (size_t i = 0; i < results.size(); ++i) {
    remembered.outputs.push_back(new_saved(results[i], recipe, i, false));
  }
  return remembered;
}

SavedPtr remember_created(dispatch::OpCode code, const dispatch::Attrs& attrs, const Device& device,
                          const dispatch::Value& result) {
  return new_saved(result, recipe_of(code, attrs, {}, {}, {&result, 1}, device), 0, false);
}

SavedUse use_by_tape(const SavedPtr& saved, const dispatch::Value& value) {
  SavedUse use(saved, SavedUse::By::kTape);
  if (saved->remember(value, saved->byte_size() <= costs().held_bytes)) young().add(saved);
  return use;
}

void decide_young() { young().decide_all(); }

CheckpointCostsScope::CheckpointCostsScope(const CheckpointCosts& costs)
    : costs_(costs), before_(scoped_costs) {
  scoped_costs = &costs_;
}

CheckpointCostsScope::~CheckpointCostsScope() { scoped_costs = before_; }

}  // namespace remora::autodiff
