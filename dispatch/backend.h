// The only seam between dispatch and whatever executes: a CPU, a GPU, a worker daemon. A backend is
// one device; it is told graphs, not ops.
//
// Threads: `prepare` and `run` are called by one thread at a time per device (the executor's
// current runner); every other function may be called by any thread at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatch/buffer.h"
#include "dispatch/call_name.h"
#include "dispatch/device_settings.h"
#include "dispatch/graph.h"
#include "dispatch/memory_owner.h"
#include "dispatch/value.h"

namespace remora::dispatch {

struct DeviceInfo {
  std::string name;         // "cpu:0 (Intel Xeon, AVX2)"
  std::string fingerprint;  // numerics: equal fingerprints give equal bits
  int64_t memory_limit_bytes = 0;
  DeviceSettings settings = {};  // what its worker prescribes
};

struct MemoryUse {
  int64_t live_bytes = 0;    // held by storages
  int64_t cached_bytes = 0;  // kept for reuse
  int64_t limit_bytes = 0;
  /// Most live bytes at once since the device was opened or `reset_peak_memory`; 0 on a worker,
  /// whose runs nobody here sees.
  int64_t peak_bytes = 0;
};

/// What crossed the wire for a device's worker; zero for local devices. Bytes are serialized
/// messages.
struct WireStats {
  uint64_t frames_sent = 0;  // with a sequence number: pure acks are not counted
  uint64_t frames_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t round_trips = 0;  // times somebody had to wait for an answer: reads and syncs
  uint64_t graphs_defined = 0;
};

class CaptureRecorder;

/// A prepared graph with its live set. Backends derive from it.
class Plan {
 public:
  virtual ~Plan() = default;
  /// Most bytes alive at once during a run, outputs included, inputs not.
  virtual int64_t peak_bytes() const = 0;
};

struct RunRequest {
  std::span<const Buffer> inputs;    // by external input index
  std::span<const uint64_t> params;  // the graph's param slots
  const std::vector<bool>&
      consumed;               // by external input index: no handle remains; its id ends here
  uint64_t window = 0;        // output k is value (window, k)
  bool ended_by_cut = false;  // a cut-ended window is less likely to come again
  /// By op, for a backend whose errors come later, with their origin; may be null.
  std::shared_ptr<const CallNames> calls = nullptr;
};

/// An op of a run that failed: its outputs and what depends on them are to be poisoned.
struct OpFailure {
  uint32_t op = 0;  // index in Graph::ops
  absl::Status status;
};

struct RunResult {
  /// Not OK: nothing was computed (RESOURCE_EXHAUSTED: did not fit as a whole).
  absl::Status status;
  /// By output index; no storage where the value is not live.
  std::vector<Buffer> outputs;
  std::vector<OpFailure> failures;
};

/// Called exactly once, on any thread, with the bytes or why there are none.
using ReadCallback = std::function<void(absl::StatusOr<HostData>)>;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual DeviceInfo info() const = 0;
  /// True if the device has a kernel for this op in this element type.
  virtual bool supports(OpCode code, DType dtype) const = 0;

  /// Prepares a checked graph for repeated runs. `live` says which outputs a run must keep.
  virtual absl::StatusOr<std::unique_ptr<Plan>> prepare(GraphPtr graph, const LiveSet& live) = 0;
  virtual RunResult run(Plan& plan, const RunRequest& request) = 0;

  /// Makes a tensor of host bytes; the backend may keep `data` instead of copying it. `id` names
  /// the value on a worker.
  virtual absl::StatusOr<Buffer> upload(ValueId id, HostData data) = 0;
  /// Reads a tensor back, row-major, after all runs handed over so far.
  virtual void download(const Buffer& buffer, ReadCallback done) = 0;
  /// Reads several tensors as one request; a callback each.
  virtual void download_all(std::span<const Buffer> buffers, std::vector<ReadCallback> done);
  /// Copies from another device of the same kind without passing through this process's memory, or
  /// UNIMPLEMENTED where it cannot.
  virtual absl::StatusOr<Buffer> copy_from(Backend& source, const Buffer& buffer, ValueId id);

  /// Hands everything so far to the device: sends a frame, submits a command buffer.
  virtual void flush() {}
  /// Waits until the device has executed everything handed over so far; the first error of the
  /// device itself, if it failed.
  virtual absl::Status synchronize() = 0;

  /// True if `run` only encodes or submits, so that the recording thread may call it itself.
  virtual bool runs_inline() const { return false; }
  virtual MemoryUse memory() const = 0;
  /// The most live bytes at once are counted from now on.
  virtual void reset_peak_memory() {}
  /// Gives memory that is kept for reuse back to where it came from. A worker keeps its own: other
  /// sessions use it.
  virtual void trim() {}
  /// An owner allocates no more: memory that was kept for it is given back.
  virtual void retire(MemoryOwner owner) { (void)owner; }
  virtual WireStats wire_stats() const { return {}; }
  /// What keeps the ops instead of a window, on a device that records and never runs (capture.h);
  /// else null.
  virtual CaptureRecorder* capture() { return nullptr; }
};

}  // namespace remora::dispatch
