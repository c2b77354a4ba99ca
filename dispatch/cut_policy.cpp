#include "dispatch/cut_policy.h"

#include <utility>

namespace remora::dispatch {
namespace {

/// Finaliser of MurmurHash3: spreads every bit over all others.
uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

}  // namespace

bool SequenceSet::insert(uint64_t hash) {
  if (const auto found = index_.find(hash); found != index_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return false;
  }
  if (order_.size() == capacity_) {
    index_.erase(order_.back());
    order_.pop_back();
  }
  order_.push_front(hash);
  index_[hash] = order_.begin();
  return true;
}

void CutPolicy::add(uint64_t op_hash, int64_t output_bytes, size_t window_outputs) {
  const uint64_t hash = mix(op_hash);
  rolling_ = (rolling_ << 1) + hash;
  sequence_ = mix(sequence_ ^ hash) + hash;
  ++ops_;
  pending_bytes_ += output_bytes;
  if (ops_ >= kMinCutOps && (rolling_ >> (64 - kCutHashBits)) == 0) propose(window_outputs);
}

void CutPolicy::recount(int64_t held_bytes, size_t window_outputs) {
  pending_bytes_ = held_bytes;
  if (over_budget() && ops_ >= kMinCutOps) propose(window_outputs);
}

void CutPolicy::propose(size_t window_outputs) {
  proposed_ = true;
  ops_ = 0;
  pending_bytes_ = 0;
  span_begin_ = window_outputs;
}

bool CutPolicy::take_proposal() { return std::exchange(proposed_, false); }

void CutPolicy::window_ended() {
  proposed_ = false;
  span_begin_ = 0;
}

void CutPolicy::hard_end() { *this = CutPolicy(); }

}  // namespace remora::dispatch
