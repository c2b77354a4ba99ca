// What backward may need of a value under Balanced checkpointing: the value itself, or the recipe
// that gives it again. Owned by the tensors of the value, by the tape nodes that save it and by the
// recipes that read it; any thread may use one.
//
// At first both are there (young). balanced.h decides, once the ops behind it are known, what
// remains: the value (held), the recipe (recomputed), or neither (forgotten). A decision is
// forgotten with its last use by a tape or a recipe, so that a tensor that outlives the tape keeps
// nothing but its own value.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/attrs.h"
#include "dispatch/device.h"
#include "dispatch/op.h"
#include "dispatch/value.h"

namespace remora::autodiff {

class SavedValue;
struct Recipe;
using SavedPtr = std::shared_ptr<SavedValue>;
using RecipePtr = std::shared_ptr<const Recipe>;

/// A counted use of a saved value: as long as one is there, the value can be had.
class SavedUse {
 public:
  enum class By : uint8_t { kTape, kRecipe };

  SavedUse() = default;
  SavedUse(SavedPtr saved, By by);
  SavedUse(SavedUse&& other) noexcept
      : saved_(std::exchange(other.saved_, nullptr)), by_(other.by_) {}
  SavedUse& operator=(SavedUse&& other) noexcept {
    std::swap(saved_, other.saved_);
    std::swap(by_, other.by_);
    return *this;
  }
  ~SavedUse();

  explicit operator bool() const { return saved_ != nullptr; }
  SavedValue* operator->() const { return saved_.get(); }
  const SavedPtr& get() const { return saved_; }

 private:
  SavedPtr saved_;
  By by_ = By::kTape;
};

/// An op that can be submitted again: the same op on the same operands, where it ran; a draw with
/// the generator's place as it was.
struct Recipe {
  dispatch::OpCode code{};
  dispatch::Attrs attrs;
  absl::InlinedVector<SavedUse, 2> inputs;
  Device device;  // of an op without operands
  double work = 0.0;
};

class SavedValue {
 public:
  enum class State : uint8_t { kYoung, kHeld, kRecomputed, kForgotten };

  /// Young, or held if `held`. `recipe` may be null: then it is the value or nothing.
  SavedValue(dispatch::Value value, RecipePtr recipe, uint32_t output, bool held);

  int64_t byte_size() const { return byte_size_; }
  uint32_t output() const { return output_; }
  State state() const;
  /// The value if it is there, else empty.
  dispatch::Value value() const;
  /// The recipe if it is there, else null.
  RecipePtr recipe() const;
  /// Of a recomputed value: work and ops since values that are held.
  double chain_work() const;
  int chain_length() const;
  /// Uses by tapes.
  int64_t tape_uses() const;

  /// For an op that has the value in hand: a forgotten value is there again, held if `hold`, else
  /// young. True if it became young.
  bool remember(const dispatch::Value& value, bool hold);

  /// What remains of a young value; a value without uses is forgotten. Nothing happens to any
  /// other.
  void hold();
  void recompute(double chain_work, int chain_length);
  void forget();

 private:
  friend class SavedUse;
  void add_use(SavedUse::By by);
  void drop_use(SavedUse::By by);
  void decide(State state, double chain_work, int chain_length);

  const uint32_t output_;
  const int64_t byte_size_;
  mutable absl::Mutex mutex_;  // guards all below
  State state_ ABSL_GUARDED_BY(mutex_);
  dispatch::Value value_ ABSL_GUARDED_BY(mutex_);
  RecipePtr recipe_ ABSL_GUARDED_BY(mutex_);
  int64_t tape_uses_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t recipe_uses_ ABSL_GUARDED_BY(mutex_) = 0;
  double chain_work_ ABSL_GUARDED_BY(mutex_) = 0.0;
  int chain_length_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace remora::autodiff
