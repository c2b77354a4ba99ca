#include "client/autodiff/recomputation.h"

#include <utility>

#include "client/autodiff/node.h"
#include "dispatch/submit.h"

namespace remora::autodiff {

namespace {

/// The recipes behind operands that are not there.
std::vector<RecipePtr> recipes_of_inputs(const Recipe& recipe) {
  std::vector<RecipePtr> recipes;
  for (const SavedUse& input : recipe.inputs) {
    if (input->value()) continue;
    if (RecipePtr behind = input->recipe(); behind != nullptr) recipes.push_back(std::move(behind));
  }
  return recipes;
}

/// Likewise behind what a node saves.
std::vector<RecipePtr> recipes_of_saved(const Kept& kept) {
  std::vector<RecipePtr> recipes;
  const auto look_at = [&](const Saved& saved) {
    if (!saved.use || saved.use->value()) return;
    if (RecipePtr behind = saved.use->recipe(); behind != nullptr)
      recipes.push_back(std::move(behind));
  };
  for (const Saved& saved : kept.saved_inputs) look_at(saved);
  for (const Saved& saved : kept.saved_outputs) look_at(saved);
  return recipes;
}

}  // namespace

Recomputation::Entry& Recomputation::entry(const RecipePtr& recipe) {
  Entry& entry = entries_[recipe.get()];
  if (entry.recipe == nullptr) entry.recipe = recipe;
  return entry;
}

void Recomputation::expect(const Kept& kept) {
  std::vector<RecipePtr> pending = recipes_of_saved(kept);
  while (!pending.empty()) {
    const RecipePtr recipe = std::move(pending.back());
    pending.pop_back();
    if (entry(recipe).uses++ > 0) continue;
    for (RecipePtr& input : recipes_of_inputs(*recipe)) pending.push_back(std::move(input));
  }
}

void Recomputation::done(const Kept& kept) { drop_uses(recipes_of_saved(kept)); }

/// What nobody uses any more is let go; if it was never computed, it uses its operands no more.
void Recomputation::drop_uses(std::vector<RecipePtr> recipes) {
  while (!recipes.empty()) {
    const RecipePtr recipe = std::move(recipes.back());
    recipes.pop_back();
    Entry& dropped = entry(recipe);
    if (dropped.uses == 0 || --dropped.uses > 0) continue;
    if (!std::exchange(dropped.computed, false)) {
      for (RecipePtr& input : recipes_of_inputs(*recipe)) recipes.push_back(std::move(input));
    }
    dropped.results.clear();
  }
}

dispatch::Value Recomputation::value_of(const SavedValue& saved) {
  if (dispatch::Value value = saved.value()) return value;
  const RecipePtr recipe = saved.recipe();
  compute(recipe);
  return entry(recipe).results[saved.output()];
}

/// With a stack of its own: chains of recipes may be long.
void Recomputation::compute(const RecipePtr& recipe) {
  std::vector<RecipePtr> stack = {recipe};
  while (!stack.empty()) {
    Entry& top = entry(stack.back());
    bool ready = true;
    if (!top.computed) {
      for (RecipePtr& input : recipes_of_inputs(*top.recipe)) {
        if (entry(input).computed) continue;
        stack.push_back(std::move(input));
        ready = false;
      }
    }
    if (!ready) continue;
    stack.pop_back();
    if (!top.computed) run(top);
  }
}

void Recomputation::run(Entry& entry) {
  const Recipe& recipe = *entry.recipe;
  absl::InlinedVector<dispatch::Value, 3> operands;
  for (const SavedUse& input : recipe.inputs) operands.push_back(value_of(*input.operator->()));
  entry.results = dispatch::submit(recipe.code, operands, recipe.attrs, &recipe.device);
  entry.computed = true;
  drop_uses(recipes_of_inputs(recipe));
}

}  // namespace remora::autodiff
