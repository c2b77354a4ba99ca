// Capture: a device whose ops are kept for the user as a graph instead of being run. Its backend
// holds host data and executes nothing; what records is its CaptureRecorder, which Recorder gives
// every op that reaches the device.
//
// A recorder has one scope at a time. A value of its device is host data (an initializer, which
// belongs to the device and may serve any scope), or was declared or computed in a scope and is
// poisoned when that scope ends: nothing can be recorded on it any more.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/captured_program.h"
#include "dispatch/device.h"
#include "dispatch/registry.h"
#include "dispatch/value.h"
#include "dispatch/window.h"

namespace remora::dispatch {

/// Thread-safe: any thread may record in the open scope. Every function but `active`, `mark` and
/// `rewind` throws FAILED_PRECONDITION where no scope is open, unless it says otherwise.
class CaptureRecorder {
 public:
  explicit CaptureRecorder(Device device) : device_(device) {}

  /// Opens a scope. FAILED_PRECONDITION if one is open.
  void begin();
  /// Closes the scope, if one is open: its values are poisoned. Throws nothing.
  void end();
  bool active() const;

  /// A new input of the graph.
  Value declare(const Spec& spec);
  /// Keeps an op and gives its outputs. FAILED_PRECONDITION for an operand of a closed scope, the
  /// error of host data that is known to have failed on its way,
  /// RESOURCE_EXHAUSTED beyond kMaxCapturedOps.
  Values record(const OpInfo& info, std::span<const Value> inputs, const Attrs& attrs,
                std::span<const Spec> specs);

  /// The graph from `inputs` to `outputs`, and closes the scope: the ops that the outputs need and
  /// every draw. Waits for host data that is still on its way. INVALID_ARGUMENT for a tensor that
  /// the scope does not know, that comes twice, an input that was not declared or was computed, a
  /// declared input that the outputs need and `inputs` lacks; then the scope stays open.
  CapturedProgram complete(std::span<const Value> inputs, std::span<const Value> outputs);

  /// Throws FAILED_PRECONDITION unless `value` is host data and `target` another capture device.
  void check_may_leave(const Value& value, const Device& target) const;
  /// What `remember_copy` was told in this scope, or nothing: a value that many ops use is one
  /// initializer.
  Value copy_of(const Value& source) const;
  void remember_copy(const Value& source, const Value& copy);

  /// Where recording stands; `rewind` forgets the ops since, if the same scope is open.
  struct Mark {
    uint64_t scope = 0;
    size_t ops = 0;
  };
  Mark mark() const;
  void rewind(const Mark& mark);

 private:
  struct RecordedOp {
    const OpInfo* info;
    absl::InlinedVector<Value, 4> inputs;
    Attrs attrs;
    Values outputs;
  };
  /// An op's output, or a declared input (op < 0).
  struct Origin {
    int64_t op = -1;
    uint32_t index = 0;
  };
  struct Scope {
    bool open = false;
    uint64_t number = 0;
    std::vector<Value> inputs;
    std::vector<RecordedOp> ops;
    absl::flat_hash_map<const ValueNode*, Origin> origins;
    absl::flat_hash_map<const ValueNode*, std::pair<Value, Value>> copies;  // source, copy
  };
  class Completion;

  void check_open(std::string_view action) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Device device_;
  mutable absl::Mutex mutex_;  // guards the scope; a leaf: nothing is called under it
  Scope scope_ ABSL_GUARDED_BY(mutex_);
};

/// Opens capture devices. The kind counts none, so none is enumerated or the default.
BackendFactory capture_factory();

/// The bytes of host data on a capture device; waits while they are on their way. Throws what made
/// them fail.
HostData captured_host_data(const Value& value);

/// The recorder of a capture device. Throws INVALID_ARGUMENT for any other device.
CaptureRecorder& capture_recorder(const Device& device);

}  // namespace remora::dispatch
