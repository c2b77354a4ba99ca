// Recording. Each thread records its own window per device: the ops it has submitted that have not
// been handed to the device yet. `Recorder` is the thread's view of its windows; it is what submit,
// reads and transfers call. All state of a device's windows is guarded by its record mutex, because
// another thread that uses a value of an open window ends that window first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "dispatch/call_name.h"
#include "dispatch/cut_policy.h"
#include "dispatch/device_state.h"
#include "dispatch/graph.h"
#include "dispatch/value.h"

namespace remora::dispatch {

using Values = absl::InlinedVector<Value, 2>;

/// Why a window ends.
enum class WindowEnd : uint8_t {
  kHard,  // a read, sync, transfer, step, flush or thread exit
  kCut,   // a taken cut or the size limit
};

/// One thread's open window on one device. Guarded by the device's record mutex.
class Window {
 public:
  explicit Window(DeviceState* device) : device_(*device) {}

  /// Appends an op and returns its outputs. All inputs live on this device and none is in another
  /// window.
  Values record(const OpInfo& info, std::span<const Value> inputs, const Attrs& attrs,
                std::span<const Spec> specs);
  /// Hands the window to the device's queue; nothing if it is empty, except that a hard end resets
  /// the cut policy.
  void end(WindowEnd why);
  /// True if the policy proposes a cut here and the sequence is new, or the window is full.
  bool wants_cut();
  bool is_full() const;

  struct Mark {
    uint64_t ends;
    GraphBuilder::Mark builder;
    CutPolicy policy;
  };
  Mark mark() const;
  /// Forgets every op recorded since `mark`. If the window was handed over since, only what was
  /// recorded after that is forgotten.
  void rewind(const Mark& mark);

 private:
  Position position_of(const Value& input);

  DeviceState& device_;
  uint64_t number_ = 0;  // taken at the first op
  uint64_t ends_ = 0;    // windows handed over so far
  GraphBuilder builder_;
  CallNames calls_;             // by op
  std::vector<Value> inputs_;   // external, by index
  std::vector<Value> outputs_;  // by output index
  absl::flat_hash_map<const ValueNode*, uint32_t> input_index_;
  CutPolicy policy_;
};

/// This thread's windows. Destroyed at thread exit, which ends them.
class Recorder {
 public:
  static Recorder& current();
  ~Recorder();
  Recorder(const Recorder&) = delete;

  /// Records an op on `device`; see submit.h for the checks that come before.
  Values record(DeviceState& device, const OpInfo& info, std::span<const Value> inputs,
                const Attrs& attrs, std::span<const Spec> specs);
  /// Records a draw that takes `offsets` of the device's generator, in recording order; `attrs`
  /// gets its seed and offset.
  Value record_random(DeviceState& device, const OpInfo& info, RandomAttrs& attrs, const Spec& spec,
                      uint64_t offsets);

  /// Hands over a window that was not recorded here, of a graph that exists already. What it reads
  /// is in no open window.
  void hand_over(DeviceState& device, WindowRun run);
  /// Takes `offsets` of the device's generator: what a draw that is not recorded here uses.
  static Generator take_offsets(DeviceState& device, uint64_t offsets);

  /// Ends this thread's window on `device` hard and hands it over.
  void flush(DeviceState& device);
  /// The same on every device: before this thread blocks.
  void flush_all();
  /// On every device but the one whose executor this thread is about to wait in.
  void flush_all_but(DeviceState& device);
  /// Waits until the device's queue is within its bounds, after handing over what it may be waiting
  /// for.
  void wait_for_room(DeviceState& device);
  /// The first half of `flush`, for a caller that pushes more tasks before anything runs.
  void end_window(DeviceState& device);
  /// Ends the open window, of whatever thread, that `value` is still in; the caller kicks its
  /// executor.
  static void end_window_of(const Value& value);

 private:
  friend class CallScope;
  struct Entry;
  Recorder();
  Entry& entry(DeviceState& device);
  void mark_if_in_call(Entry& mine);
  void after_record(Entry& mine);

  std::vector<std::unique_ptr<Entry>> entries_;
  int call_depth_ = 0;
};

/// Brackets a public function that records more than one op: if it throws, every window and
/// generator of this thread returns to where it was when the outermost scope began; cuts wait until
/// that scope ends. Errors of the ops inside name it (call_name.h).
class CallScope {
 public:
  /// `function`: the enclosing one's name unless given; "" for what is no function of the program.
  explicit CallScope(std::string_view function = __builtin_FUNCTION());
  ~CallScope();
  CallScope(const CallScope&) = delete;

 private:
  CallName name_;
  int exceptions_;
};

}  // namespace remora::dispatch
