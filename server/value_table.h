// A session's values by id. Owned by the session's strand; not thread-safe.
#pragma once

#include <cstdint>
#include <deque>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "dispatch/value.h"

namespace remora::server {

class ValueTable {
 public:
  /// Of at most `limit` values.
  explicit ValueTable(size_t limit) : limit_(limit) {}
  /// Takes note of a window's number. ALREADY_EXISTS if it was used before: among the last ones, or
  /// ever while a value of it lives.
  absl::Status open_window(uint64_t window);
  /// OK if `id` can be added: ALREADY_EXISTS for one that is there.
  absl::Status check_new(dispatch::ValueId id) const;
  /// RESOURCE_EXHAUSTED if `count` more values would be too many.
  absl::Status check_room(size_t count) const;
  /// Requires `check_new`. Its window number counts as used.
  void add(dispatch::ValueId id, dispatch::Value value);
  /// The value, or an empty handle.
  dispatch::Value find(dispatch::ValueId id) const;
  void erase(dispatch::ValueId id) { values_.erase(id); }
  /// Drops (window, first) to (window, first + count - 1); those that are not there do not matter.
  void drop(uint64_t window, uint32_t first, uint32_t count);
  void clear();
  size_t size() const { return values_.size(); }

 private:
  void remember(uint64_t window);

  const size_t limit_;
  // Ordered, so that a range of ids costs what it holds and not what it spans.
  absl::btree_map<dispatch::ValueId, dispatch::Value> values_;
  absl::flat_hash_set<uint64_t> recent_windows_;
  std::deque<uint64_t> recent_order_;  // oldest first
};

}  // namespace remora::server
