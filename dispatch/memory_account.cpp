#include "dispatch/memory_account.h"

#include <algorithm>

#include "dispatch/str_cat.h"

namespace remora::dispatch {

MemoryCharge& MemoryCharge::operator=(MemoryCharge&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryCharge::~MemoryCharge() {
  if (account_ != nullptr) account_->give_back(bytes_);
}

MemoryCharge MemoryCharge::split(int64_t bytes) {
  const int64_t taken = std::min(bytes, bytes_);
  bytes_ -= taken;
  return {account_, taken};
}

absl::StatusOr<MemoryCharge> MemoryAccount::reserve(int64_t bytes) {
  if (absl::Status status = take(bytes); !status.ok()) return status;
  return MemoryCharge(shared_from_this(), bytes);
}

absl::Status MemoryAccount::take(int64_t bytes) {
  int64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - used) {
      return absl::ResourceExhaustedError(str_cat(owner_, ": ", bytes, " bytes asked for, ", used,
                                                  " of ", limit_bytes_, " in use"));
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  if (within_ == nullptr) return absl::OkStatus();
  absl::Status status = within_->take(bytes);
  if (!status.ok()) used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return status;
}

void MemoryAccount::give_back(int64_t bytes) {
  used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (within_ != nullptr) within_->give_back(bytes);
}

}  // namespace remora::dispatch
