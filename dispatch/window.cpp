#include "dispatch/window.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dispatch/capture.h"
#include "dispatch/error.h"
#include "dispatch/fork_guard.h"
#include "dispatch/limits.h"
#include "dispatch/registry.h"

namespace remora::dispatch {
namespace {

/// REMORA_SYNC=1 runs every op at once.
bool sync_mode() {
  static const bool on = [] {
    const char* text = std::getenv("REMORA_SYNC");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return on;
}

/// What an op is to the cut policy: code, key attributes, shapes; never positions or ids.
uint64_t content_hash(const OpInfo& info, std::string_view attrs_key, std::span<const Spec> specs) {
  uint64_t hash =
      XXH3_64bits_withSeed(attrs_key.data(), attrs_key.size(), static_cast<uint64_t>(info.code));
  for (const Spec& spec : specs) {
    const Dims& sizes = spec.shape.sizes();
    hash = XXH3_64bits_withSeed(sizes.data(), sizes.size() * sizeof(int64_t), hash);
  }
  return hash;
}

}  // namespace

Position Window::position_of(const Value& input) {
  if (input->window_ == this) return Position::output(input->window_index_);
  const auto [entry, is_new] =
      input_index_.try_emplace(input.get(), static_cast<uint32_t>(inputs_.size()));
  if (is_new) {
    builder_.add_input(input->spec());
    inputs_.push_back(input);
  }
  return Position::external(entry->second);
}

Values Window::record(const OpInfo& info, std::span<const Value> inputs, const Attrs& attrs,
                      std::span<const Spec> specs) {
  if (number_ == 0) number_ = next_window_number();
  if (builder_.empty()) builder_.set_settings(numeric_bits(device_.fixed_settings()));
  absl::InlinedVector<Position, 4> positions;
  for (const Value& input : inputs) positions.push_back(position_of(input));
  uint32_t index = builder_.add_op(info, positions, attrs, specs);
  calls_.push_back(CallName::current());
  Values outputs;
  int64_t bytes = 0;
  for (const Spec& spec : specs) {
    Value output = Value::make(ValueId(number_, index), spec, &device_);
    output->window_ = this;
    output->window_index_ = index++;
    bytes += spec.byte_size();
    outputs_.push_back(output);
    outputs.push_back(std::move(output));
  }
  policy_.add(content_hash(info, builder_.last_attrs_key(), specs), bytes, outputs_.size());
  if (policy_.over_budget()) {
    int64_t held = 0;
    for (size_t i = policy_.span_begin(); i < outputs_.size(); ++i) {
      if (!outputs_[i].unique()) held += outputs_[i]->spec().byte_size();
    }
    policy_.recount(held, outputs_.size());
  }
  device_.ops_.fetch_add(1, std::memory_order_relaxed);
  return outputs;
}

bool Window::is_full() const { return builder_.op_count() >= kMaxWindowOps; }

bool Window::wants_cut() {
  if (is_full()) return true;
  return policy_.take_proposal() && device_.seen_sequences_.insert(policy_.sequence());
}

void Window::end(WindowEnd why) {
  if (!builder_.empty()) {
    WindowRun run;
    run.window = number_;
    run.ended_by_cut = why == WindowEnd::kCut;
    run.graph = builder_.finish(run.params);
    run.calls = std::make_shared<const CallNames>(std::move(calls_));
    calls_.clear();
    // Whoever holds the only handle is this window: nobody can use the value any more.
    run.live.reserve(outputs_.size());
    for (Value& output : outputs_) {
      output->window_ = nullptr;
      const bool live = !output.unique();
      run.live.push_back(live);
      if (!live) output.reset();
    }
    run.consumed.reserve(inputs_.size());
    for (const Value& input : inputs_) run.consumed.push_back(input.unique());
    run.outputs = std::move(outputs_);
    run.inputs = std::move(inputs_);
    outputs_.clear();
    inputs_.clear();
    input_index_.clear();
    number_ = 0;
    ++ends_;
    device_.windows_.fetch_add(1, std::memory_order_relaxed);
    // Under the record mutex, so that windows enter the queue in the order in which values pass
    // between them.
    device_.executor_.push(device_.queue_, std::move(run));
  }
  if (why == WindowEnd::kHard) {
    policy_.hard_end();
  } else {
    policy_.window_ended();
  }
}

Window::Mark Window::mark() const { return {ends_, builder_.mark(), policy_}; }

void Window::rewind(const Mark& mark) {
  // If the window was handed over since, all that is open now was recorded after the mark.
  const bool same_window = mark.ends == ends_;
  const GraphBuilder::Mark target = same_window ? mark.builder : GraphBuilder().mark();
  for (size_t i = target.outputs; i < outputs_.size(); ++i) {
    outputs_[i]->window_ = nullptr;
    outputs_[i]->poison(absl::AbortedError("the call that recorded this value failed"));
  }
  for (size_t i = target.inputs; i < inputs_.size(); ++i) input_index_.erase(inputs_[i].get());
  outputs_.resize(target.outputs);
  inputs_.resize(target.inputs);
  builder_.rewind(target);
  calls_.resize(builder_.op_count());
  if (same_window) policy_ = mark.policy;
}

/// One device as this thread sees it.
struct Recorder::Entry {
  explicit Entry(DeviceState* device_in) : device(device_in), window(device_in) {}

  DeviceState* device;
  Window window;
  // A new window begins with the next record, which first waits for room in the queue.
  bool fresh = true;
  // Set at the first record inside a CallScope.
  bool marked = false;
  Window::Mark mark{};
  Generator generator_mark;
  uint64_t generator_end = 0;  // offset after this call's last draw
  CaptureRecorder::Mark capture_mark;
};

namespace {
// Destroyed trivially, so it can be looked at when the recorder is no more.
thread_local bool recorder_is_gone = false;
}  // namespace

Recorder& Recorder::current() {
  if (recorder_is_gone) {
    throw Error(absl::CancelledError("the thread is ending: it can compute and read no more"));
  }
  thread_local Recorder recorder;
  return recorder;
}

Recorder::Recorder() = default;

Recorder::~Recorder() {
  if (!in_forked_child()) flush_all();
  // The main thread's thread_locals go before any static object of the program does.
  if (getpid() == gettid()) registry().stop();
  recorder_is_gone = true;
}

Recorder::Entry& Recorder::entry(DeviceState& device) {
  for (const auto& entry : entries_) {
    if (entry->device == &device) return *entry;
  }
  entries_.push_back(std::make_unique<Entry>(&device));
  return *entries_.back();
}

Values Recorder::record(DeviceState& device, const OpInfo& info, std::span<const Value> inputs,
                        const Attrs& attrs, std::span<const Spec> specs) {
  throw_if_forked();
  Entry& mine = entry(device);
  if (CaptureRecorder* capture = device.backend().capture(); capture != nullptr) {
    mark_if_in_call(mine);
    return capture->record(info, inputs, attrs, specs);
  }
  if (std::exchange(mine.fresh, false)) wait_for_room(device);
  Values outputs;
  bool handed_over = false;
  {
    const absl::MutexLock lock(&device.record_mutex_);
    mark_if_in_call(mine);
    for (const Value& input : inputs) {
      Window* window = input->window_;
      if (window == nullptr || window == &mine.window) continue;
      window->end(WindowEnd::kCut);
      handed_over = true;
    }
    outputs = mine.window.record(info, inputs, attrs, specs);
  }
  if (handed_over) device.executor_.kick();
  after_record(mine);
  return outputs;
}

Value Recorder::record_random(DeviceState& device, const OpInfo& info, RandomAttrs& attrs,
                              const Spec& spec, uint64_t offsets) {
  throw_if_forked();
  Entry& mine = entry(device);
  if (CaptureRecorder* capture = device.backend().capture(); capture != nullptr) {
    mark_if_in_call(mine);
    return capture->record(info, {}, attrs, {&spec, 1})[0];
  }
  if (std::exchange(mine.fresh, false)) wait_for_room(device);
  Values outputs;
  {
    const absl::MutexLock lock(&device.record_mutex_);
    mark_if_in_call(mine);
    attrs.seed = device.generator_.seed;
    attrs.offset = device.generator_.offset;
    outputs = mine.window.record(info, {}, attrs, {&spec, 1});
    device.generator_.offset += offsets;
    mine.generator_end = device.generator_.offset;
  }
  after_record(mine);
  return outputs[0];
}

void Recorder::mark_if_in_call(Entry& mine) {
  if (call_depth_ == 0 || mine.marked) return;
  mine.marked = true;
  if (CaptureRecorder* capture = mine.device->backend().capture(); capture != nullptr) {
    mine.capture_mark = capture->mark();
    return;
  }
  mine.mark = mine.window.mark();
  mine.generator_mark = mine.device->generator_;
  mine.generator_end = mine.generator_mark.offset;
}

void Recorder::after_record(Entry& mine) {
  DeviceState& device = *mine.device;
  bool ended = false;
  {
    const absl::MutexLock lock(&device.record_mutex_);
    // Cuts wait for the end of a composite call; the size limit does not.
    if (call_depth_ == 0 ? mine.window.wants_cut() : mine.window.is_full()) {
      mine.window.end(WindowEnd::kCut);
      ended = true;
    }
  }
  if (ended) {
    device.executor_.kick();
    mine.fresh = true;
  }
  if (sync_mode() && call_depth_ == 0) {
    flush(device);
    device.executor_.wait_until_empty(device.queue_);
  }
}

void Recorder::wait_for_room(DeviceState& device) {
  if (device.executor_.has_room(device.queue_)) return;
  // This device's window is not ended: a full queue must not make a hard end.
  flush_all_but(device);
  device.executor_.kick();
  device.executor_.wait_for_room(device.queue_);
}

void Recorder::hand_over(DeviceState& device, WindowRun run) {
  throw_if_forked();
  wait_for_room(device);
  {
    const absl::MutexLock lock(&device.record_mutex_);
    device.windows_.fetch_add(1, std::memory_order_relaxed);
    device.ops_.fetch_add(run.graph->ops.size(), std::memory_order_relaxed);
    device.executor_.push(device.queue_, std::move(run));
  }
  // A worker is told together with what comes next, a read as a rule: one frame for both.
  if (!device.backend().runs_inline()) device.executor_.kick();
  if (sync_mode() && call_depth_ == 0) {
    flush(device);
    device.executor_.wait_until_empty(device.queue_);
  }
}

Generator Recorder::take_offsets(DeviceState& device, uint64_t offsets) {
  const absl::MutexLock lock(&device.record_mutex_);
  const Generator before = device.generator_;
  device.generator_.offset += offsets;
  return before;
}

void Recorder::end_window(DeviceState& device) {
  Entry& mine = entry(device);
  mine.fresh = true;
  const absl::MutexLock lock(&device.record_mutex_);
  mine.window.end(WindowEnd::kHard);
}

void Recorder::flush(DeviceState& device) {
  end_window(device);
  device.executor_.kick();
}

void Recorder::flush_all() {
  for (size_t i = 0; i < entries_.size(); ++i) flush(*entries_[i]->device);
}

void Recorder::flush_all_but(DeviceState& device) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i]->device != &device) flush(*entries_[i]->device);
  }
}

void Recorder::end_window_of(const Value& value) {
  DeviceState& device = value->device();
  const absl::MutexLock lock(&device.record_mutex_);
  if (value->window_ != nullptr) value->window_->end(WindowEnd::kHard);
}

CallScope::CallScope(std::string_view function)
    : name_(function), exceptions_(std::uncaught_exceptions()) {
  ++Recorder::current().call_depth_;
}

CallScope::~CallScope() {
  Recorder& recorder = Recorder::current();
  if (--recorder.call_depth_ > 0) return;
  const bool failed = std::uncaught_exceptions() > exceptions_;
  for (size_t i = 0; i < recorder.entries_.size(); ++i) {
    Recorder::Entry& mine = *recorder.entries_[i];
    if (!mine.marked) continue;
    mine.marked = false;
    CaptureRecorder* capture = mine.device->backend().capture();
    if (capture != nullptr) {
      if (failed) capture->rewind(mine.capture_mark);
      continue;
    }
    if (!failed) {
      recorder.after_record(mine);
      continue;
    }
    const absl::MutexLock lock(&mine.device->record_mutex_);
    mine.window.rewind(mine.mark);
    // Unless another thread drew after this one.
    if (mine.device->generator_.offset == mine.generator_end &&
        mine.device->generator_.seed == mine.generator_mark.seed) {
      mine.device->generator_ = mine.generator_mark;
    }
  }
}

}  // namespace remora::dispatch
