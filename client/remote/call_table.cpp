#include "client/remote/call_table.h"

#include <utility>

#include "client/remote/limits.h"

namespace remora::remote {

void CallTable::add(uint64_t window, Names names) {
  if (names == nullptr) return;
  const absl::MutexLock lock(&mutex_);
  const size_t ops = names->size();
  if (!names_.try_emplace(window, std::move(names)).second) return;
  order_.push_back(window);
  ops_ += ops;
  while (order_.size() > kMaxNamedWindows || ops_ > kMaxNamedOps) {
    const auto oldest = names_.find(order_.front());
    ops_ -= oldest->second->size();
    names_.erase(oldest);
    order_.pop_front();
  }
}

absl::Status CallTable::named(const dispatch::ErrorOrigin& origin,
                              const absl::Status& status) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = names_.find(origin.window);
  if (found == names_.end() || origin.op_index >= found->second->size()) return status;
  return dispatch::in_call((*found->second)[origin.op_index], status);
}

}  // namespace remora::remote
