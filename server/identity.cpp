#include "server/identity.h"

#include <utility>

#include "dispatch/str_cat.h"
#include "server/session.h"

namespace remora::server {

Identity::Identity(std::string name, dispatch::MemoryOwner owner, const IdentityQuota& quota,
                   DeviceList devices)
    : name_(std::move(name)),
      owner_(owner),
      quota_(quota),
      devices_(std::move(devices)),
      account_(
          std::make_shared<dispatch::MemoryAccount>(str_cat("identity ", name_), quota_.bytes)) {}

absl::Status Identity::check_in_flight(int64_t bytes) const {
  if (bytes <= quota_.in_flight_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(str_cat("identity ", name_, ": ", bytes,
                                              " bytes on their way to a device; at most ",
                                              quota_.in_flight_bytes, " are allowed"));
}

bool Identity::take_in_flight(int64_t bytes, const std::shared_ptr<Session>& session) {
  const absl::MutexLock lock(&mutex_);
  // What a task counts for beside its tensor may exceed the limit, so the first always fits.
  if (in_flight_bytes_ == 0 || bytes <= quota_.in_flight_bytes - in_flight_bytes_) {
    in_flight_bytes_ += bytes;
    return true;
  }
  waiting_.insert_or_assign(session->number(), session);
  return false;
}

void Identity::landed(int64_t bytes) {
  if (bytes == 0) return;
  absl::flat_hash_map<uint64_t, std::weak_ptr<Session>> waiting;
  {
    const absl::MutexLock lock(&mutex_);
    in_flight_bytes_ -= bytes;
    waiting.swap(waiting_);
  }
  for (const auto& [number, session] : waiting) {
    if (const auto waiter = session.lock()) waiter->made_progress();
  }
}

}  // namespace remora::server
