#include "server/read_table.h"

#include <utility>

#include "dispatch/str_cat.h"
#include "proto/limits.h"

namespace remora::server {

absl::Status ReadTable::open(uint64_t number) {
  const absl::MutexLock lock(&mutex_);
  if (open_.contains(number)) {
    return absl::AlreadyExistsError(
        str_cat("read ", number, " is still open; numbers are used once"));
  }
  if (open_.size() >= wire::kMaxOpenReads) {
    return absl::ResourceExhaustedError(str_cat("read ", number, ": ", open_.size(),
                                                " reads are open; at most ", wire::kMaxOpenReads,
                                                " are allowed"));
  }
  open_.insert(number);
  return absl::OkStatus();
}

void ReadTable::answered(uint64_t number) {
  const absl::MutexLock lock(&mutex_);
  open_.erase(number);
}

void ReadTable::keep(uint64_t number, KeptReadPtr read) {
  const absl::MutexLock lock(&mutex_);
  if (!closed_) kept_.insert_or_assign(number, std::move(read));
}

absl::StatusOr<KeptReadPtr> ReadTable::fetch(uint64_t number, const void* call,
                                             std::function<void()> stop) {
  const absl::MutexLock lock(&mutex_);
  const auto found = kept_.find(number);
  if (found == kept_.end()) {
    return absl::NotFoundError(
        str_cat("download: nothing is kept under read ", number,
                "; it was fetched before, came inline or was never asked for"));
  }
  calls_.insert_or_assign(call, std::move(stop));
  return found->second;
}

void ReadTable::leave(const void* call) {
  const absl::MutexLock lock(&mutex_);
  calls_.erase(call);
}

void ReadTable::fetched(uint64_t number) {
  KeptReadPtr gone;
  const absl::MutexLock lock(&mutex_);
  const auto found = kept_.find(number);
  if (found == kept_.end()) return;
  gone = std::move(found->second);
  kept_.erase(found);
  open_.erase(number);
}

void ReadTable::close() {
  absl::flat_hash_map<uint64_t, KeptReadPtr> gone;
  absl::flat_hash_map<const void*, std::function<void()>> calls;
  {
    const absl::MutexLock lock(&mutex_);
    closed_ = true;
    kept_.swap(gone);
    calls_.swap(calls);
    open_.clear();
  }
  for (const auto& [call, stop] : calls) stop();
}

}  // namespace remora::server
