#include "server/flow_room.h"

#include "server/session.h"

namespace remora::server {

bool FlowRoom::take(int64_t bytes, const std::shared_ptr<Session>& session) {
  const absl::MutexLock lock(&mutex_);
  if (taken_bytes_ == 0 || bytes <= limit_bytes_ - taken_bytes_) {
    taken_bytes_ += bytes;
    return true;
  }
  waiting_.insert_or_assign(session->number(), session);
  return false;
}

void FlowRoom::give_back(int64_t bytes) {
  if (bytes == 0) return;
  absl::flat_hash_map<uint64_t, std::weak_ptr<Session>> waiting;
  {
    const absl::MutexLock lock(&mutex_);
    taken_bytes_ -= bytes;
    waiting.swap(waiting_);
  }
  for (const auto& [number, session] : waiting) {
    if (const auto waiter = session.lock()) waiter->made_progress();
  }
}

}  // namespace remora::server
