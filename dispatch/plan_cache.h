// Plans by graph and live set: bounded, least recently used goes first. Used by one thread at a
// time (the executor's runner); the counters may be read by any thread.
//
// A run may be served by a plan whose live set is a superset of the window's: its surplus outputs
// are dropped at once. The second time that happens, the exact set gets a plan of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dispatch/backend.h"
#include "dispatch/graph.h"

namespace remora::dispatch {

/// A plan and the live set it was prepared for.
struct PreparedPlan {
  std::unique_ptr<Plan> plan;
  LiveSet live;
  uint32_t superset_uses = 0;
};

class PlanCache {
 public:
  explicit PlanCache(Backend& backend, size_t max_plans);
  ~PlanCache();

  /// The plan for this graph and live set, prepared if unknown. The pointer is good until the next
  /// call.
  absl::StatusOr<PreparedPlan*> get(const GraphPtr& graph, const LiveSet& live);
  /// Forgets every plan.
  void clear();

  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    GraphPtr graph;
    std::vector<std::unique_ptr<PreparedPlan>> plans;
  };
  using Entries = std::list<Entry>;

  absl::StatusOr<PreparedPlan*> prepare(Entry& entry, const LiveSet& live);
  void evict();

  Backend& backend_;
  const size_t max_plans_;
  size_t plan_count_ = 0;
  Entries entries_;  // most recently used first
  absl::flat_hash_map<KeyHash, Entries::iterator> index_;
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

}  // namespace remora::dispatch
