#include "client/autodiff/saved_value.h"

namespace remora::autodiff {

SavedUse::SavedUse(SavedPtr saved, By by) : saved_(std::move(saved)), by_(by) {
  if (saved_ != nullptr) saved_->add_use(by_);
}

SavedUse::~SavedUse() {
  if (saved_ != nullptr) saved_->drop_use(by_);
}

SavedValue::SavedValue(dispatch::Value value, RecipePtr recipe, uint32_t output, bool held)
    : output_(output),
      byte_size_(value->spec().byte_size()),
      state_(held ? State::kHeld : State::kYoung),
      value_(std::move(value)),
      recipe_(held ? nullptr : std::move(recipe)) {}

SavedValue::State SavedValue::state() const {
  const absl::MutexLock lock(&mutex_);
  return state_;
}

dispatch::Value SavedValue::value() const {
  const absl::MutexLock lock(&mutex_);
  return value_;
}

RecipePtr SavedValue::recipe() const {
  const absl::MutexLock lock(&mutex_);
  return recipe_;
}

double SavedValue::chain_work() const {
  const absl::MutexLock lock(&mutex_);
  return chain_work_;
}

int SavedValue::chain_length() const {
  const absl::MutexLock lock(&mutex_);
  return chain_length_;
}

int64_t SavedValue::tape_uses() const {
  const absl::MutexLock lock(&mutex_);
  return tape_uses_;
}

bool SavedValue::remember(const dispatch::Value& value, bool hold) {
  const absl::MutexLock lock(&mutex_);
  if (state_ != State::kForgotten) return false;
  value_ = value;
  state_ = hold ? State::kHeld : State::kYoung;
  return !hold;
}

void SavedValue::add_use(SavedUse::By by) {
  const absl::MutexLock lock(&mutex_);
  ++(by == SavedUse::By::kTape ? tape_uses_ : recipe_uses_);
}

void SavedValue::drop_use(SavedUse::By by) {
  dispatch::Value value;  // both destroyed without the lock
  RecipePtr recipe;
  const absl::MutexLock lock(&mutex_);
  --(by == SavedUse::By::kTape ? tape_uses_ : recipe_uses_);
  if (tape_uses_ + recipe_uses_ > 0 || state_ == State::kYoung) return;
  std::swap(value, value_);
  std::swap(recipe, recipe_);
  state_ = State::kForgotten;
}

void SavedValue::decide(State state, double chain_work, int chain_length) {
  dispatch::Value value;  // both destroyed without the lock
  RecipePtr recipe;
  const absl::MutexLock lock(&mutex_);
  if (state_ != State::kYoung) return;
  // What a tape began to use since the caller looked is not lost.
  if (state == State::kForgotten && tape_uses_ > 0) state = State::kHeld;
  state_ = tape_uses_ + recipe_uses_ > 0 ? state : State::kForgotten;
  chain_work_ = chain_work;
  chain_length_ = chain_length;
  if (state_ != State::kHeld) std::swap(value, value_);
  if (state_ != State::kRecomputed) std::swap(recipe, recipe_);
}

void SavedValue::hold() { decide(State::kHeld, 0.0, 0); }
void SavedValue::recompute(double chain_work, int chain_length) {
  decide(State::kRecomputed, chain_work, chain_length);
}
void SavedValue::forget() { decide(State::kForgotten, 0.0, 0); }

}  // namespace remora::autodiff
