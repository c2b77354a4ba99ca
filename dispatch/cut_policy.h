// Where a window may be cut when no hard end comes: at points that depend on content alone, so that
// a program that repeats itself repeats its windows. stream rules: a cut is proposed where a
// rolling hash of the last ops says so, or at a budget of pending output bytes; it is taken only if
// the sequence of all ops since the last hard end was never seen at a proposal before.
#pragma once

#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "dispatch/limits.h"

namespace remora::dispatch {

/// Hashes of op sequences seen at a proposal; bounded, least recently used goes first. Not
/// thread-safe.
class SequenceSet {
 public:
  explicit SequenceSet(size_t capacity) : capacity_(capacity) {}
  /// True if `hash` is new. Remembers it either way.
  bool insert(uint64_t hash);

 private:
  const size_t capacity_;
  std::list<uint64_t> order_;  // most recent first
  absl::flat_hash_map<uint64_t, std::list<uint64_t>::iterator> index_;
};

/// The policy's state for one thread's windows on one device. A plain value: a mark of a window
/// copies it.
///
/// Where proposals fall is a function of the ops since the last hard end alone, never of which were
/// taken: so a sequence that comes again is proposed at the same points, and there it is known.
class CutPolicy {
 public:
  /// Notes an op by its content hash, the bytes its outputs take, and how many outputs the window
  /// then has.
  void add(uint64_t op_hash, int64_t output_bytes, size_t window_outputs);
  /// True if the outputs noted since the last proposal exceed the byte budget; `recount` then says
  /// how many bytes of the window's outputs from `span_begin` on are still held; if those exceed
  /// it, a cut is proposed.
  bool over_budget() const { return pending_bytes_ > kPendingOutputBytes; }
  size_t span_begin() const { return span_begin_; }
  void recount(int64_t held_bytes, size_t window_outputs);
  /// True if a cut was proposed since the last call; a proposal inside a composite call waits for
  /// its end.
  bool take_proposal();
  /// Identifies all ops since the last hard end.
  uint64_t sequence() const { return sequence_; }
  /// The window ended at a cut or at its size limit.
  void window_ended();
  /// The window met a hard end.
  void hard_end();

 private:
  void propose(size_t window_outputs);

  uint64_t rolling_ = 0;       // gear hash: the last 64 ops
  uint64_t sequence_ = 0;      // all ops since the last hard end
  uint64_t ops_ = 0;           // since the last proposal or hard end
  int64_t pending_bytes_ = 0;  // likewise
  size_t span_begin_ = 0;      // the window's outputs at that point
  bool proposed_ = false;
};

}  // namespace remora::dispatch
