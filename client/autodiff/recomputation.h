// Running recipes again during one backward: each at most once, when its value is asked for, and
// kept until nothing that is left to do needs it. Used by the thread that runs the backward.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "client/autodiff/saved_value.h"
#include "dispatch/window.h"

namespace remora::autodiff {

struct Kept;

class Recomputation {
 public:
  /// What a node keeps will be asked for: counts the uses of every recipe behind it.
  void expect(const Kept& kept);
  /// The value, recorded again with all that leads to it if it is not there.
  dispatch::Value value_of(const SavedValue& saved);
  /// The node's rule has run.
  void done(const Kept& kept);

 private:
  struct Entry {
    RecipePtr recipe;
    int64_t uses = 0;  // by nodes and recipes that have not run
    bool computed = false;
    dispatch::Values results;
  };
  Entry& entry(const RecipePtr& recipe);
  void compute(const RecipePtr& recipe);
  void run(Entry& entry);
  void drop_uses(std::vector<RecipePtr> recipes);

  absl::node_hash_map<const Recipe*, Entry> entries_;
};

}  // namespace remora::autodiff
