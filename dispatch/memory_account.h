// Accounting of live tensor bytes against a limit: one account per session or identity. An account
// may stand within another, a session's within its identity's: what it reserves counts in both.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace remora::dispatch {

class MemoryAccount;

/// Bytes held in an account; returned when it is destroyed. Movable.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(std::shared_ptr<MemoryAccount> account, int64_t bytes)
      : account_(std::move(account)), bytes_(bytes) {}
  MemoryCharge(MemoryCharge&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;
  ~MemoryCharge();
  int64_t bytes() const { return bytes_; }
  /// Moves `bytes` of this charge into one of their own.
  MemoryCharge split(int64_t bytes);

 private:
  std::shared_ptr<MemoryAccount> account_;
  int64_t bytes_ = 0;
};

class MemoryAccount : public std::enable_shared_from_this<MemoryAccount> {
 public:
  /// `owner` is named in refusals: "session 3f2a".
  MemoryAccount(std::string owner, int64_t limit_bytes,
                std::shared_ptr<MemoryAccount> within = nullptr)
      : owner_(std::move(owner)), limit_bytes_(limit_bytes), within_(std::move(within)) {}
  /// Reserves `bytes`, or RESOURCE_EXHAUSTED with the bytes asked for, in use and allowed.
  absl::StatusOr<MemoryCharge> reserve(int64_t bytes);
  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  int64_t limit_bytes() const { return limit_bytes_; }

 private:
  friend class MemoryCharge;
  absl::Status take(int64_t bytes);
  void give_back(int64_t bytes);

  const std::string owner_;
  const int64_t limit_bytes_;
  const std::shared_ptr<MemoryAccount> within_;
  std::atomic<int64_t> used_bytes_{0};
};

}  // namespace remora::dispatch
