#include "dispatch/plan_cache.h"

#include <algorithm>

#include "dispatch/error.h"
#include "dispatch/limits.h"

namespace remora::dispatch {
namespace {

bool covers(const LiveSet& superset, const LiveSet& live) {
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i] && !superset[i]) return false;
  }
  return true;
}

}  // namespace

PlanCache::PlanCache(Backend& backend, size_t max_plans)
    : backend_(backend), max_plans_(max_plans) {}
PlanCache::~PlanCache() = default;

absl::StatusOr<PreparedPlan*> PlanCache::get(const GraphPtr& graph, const LiveSet& live) {
  const auto found = index_.find(graph->hash);
  if (found != index_.end() && found->second->graph->key != graph->key) {
    // Two keys with one 128-bit hash: the older goes.
    plan_count_ -= found->second->plans.size();
    entries_.erase(found->second);
    index_.erase(found);
  } else if (found != index_.end()) {
    Entry& entry = *found->second;
    entries_.splice(entries_.begin(), entries_, found->second);
    PreparedPlan* superset = nullptr;
    for (const auto& plan : entry.plans) {
      if (plan->live == live) {
        hits_.fetch_add(1, std::memory_order_relaxed);
        return plan.get();
      }
      if (plan->superset_uses == 0 && covers(plan->live, live)) superset = plan.get();
    }
    if (superset != nullptr) {
      ++superset->superset_uses;
      hits_.fetch_add(1, std::memory_order_relaxed);
      return superset;
    }
    return prepare(entry, live);
  }
  entries_.push_front({graph, {}});
  index_[graph->hash] = entries_.begin();
  absl::StatusOr<PreparedPlan*> plan = prepare(entries_.front(), live);
  if (!plan.ok()) {
    index_.erase(graph->hash);
    entries_.pop_front();
  }
  return plan;
}

absl::StatusOr<PreparedPlan*> PlanCache::prepare(Entry& entry, const LiveSet& live) {
  misses_.fetch_add(1, std::memory_order_relaxed);
  REMORA_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, backend_.prepare(entry.graph, live));
  if (entry.plans.size() == kMaxLiveSets) {
    entry.plans.erase(entry.plans.begin());
    --plan_count_;
  }
  entry.plans.push_back(std::make_unique<PreparedPlan>(PreparedPlan{std::move(plan), live, 0}));
  ++plan_count_;
  PreparedPlan* prepared = entry.plans.back().get();
  evict();
  return prepared;
}

void PlanCache::evict() {
  while (plan_count_ > max_plans_ && entries_.size() > 1) {
    plan_count_ -= entries_.back().plans.size();
    index_.erase(entries_.back().graph->hash);
    entries_.pop_back();
  }
}

void PlanCache::clear() {
  index_.clear();
  entries_.clear();
  plan_count_ = 0;
}

}  // namespace remora::dispatch
