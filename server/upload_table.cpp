#include "server/upload_table.h"

#include <utility>

#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {

using dispatch::ValueId;

namespace {

std::string name(ValueId id) {
  return str_cat("upload of value (", id.window(), ", ", id.index(), ")");
}

}  // namespace

absl::Status UploadTable::check_room() const {
  const absl::MutexLock lock(&mutex_);
  if (open_.size() < wire::kMaxOpenUploads) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      str_cat(open_.size(), " uploads are open; at most ", wire::kMaxOpenUploads, " are allowed"));
}

void UploadTable::announce(ValueId id, UploadPtr upload) {
  Claim claim;
  absl::Status gone;
  {
    const absl::MutexLock lock(&mutex_);
    gone = closed_;
    if (const auto found = ended_.find(id.bits()); gone.ok() && found != ended_.end())
      gone = found->second;
    if (gone.ok()) {
      Entry& entry = open_[id.bits()];
      entry.upload = upload;
      if (const auto found = waiting_.find(id.bits()); found != waiting_.end()) {
        claim = std::move(found->second);
        waiting_.erase(found);
        entry.claimed = true;
      }
    }
  }
  if (!gone.ok()) {
    upload->fail(gone);
  } else if (claim) {
    claim(std::move(upload));
  }
}

void UploadTable::ended(ValueId id, const absl::Status& status) {
  Claim claim;
  UploadPtr upload;
  {
    const absl::MutexLock lock(&mutex_);
    if (const auto found = open_.find(id.bits()); found != open_.end()) {
      upload = std::move(found->second.upload);
      open_.erase(found);
    }
    if (const auto found = waiting_.find(id.bits()); found != waiting_.end()) {
      claim = std::move(found->second);
      waiting_.erase(found);
    }
    remember_end(id, status);
  }
  if (!claim) return;
  claim(status.ok() ? absl::AlreadyExistsError(str_cat(name(id), ": it is complete")) : status);
}

void UploadTable::claim(ValueId id, Claim caller) {
  absl::StatusOr<UploadPtr> result = UploadPtr();
  {
    const absl::MutexLock lock(&mutex_);
    if (!closed_.ok()) {
      result = closed_;
    } else if (const auto ended = ended_.find(id.bits()); ended != ended_.end()) {
      result = ended->second.ok() ? absl::AlreadyExistsError(str_cat(name(id), ": it is complete"))
                                  : ended->second;
    } else if (const auto open = open_.find(id.bits()); open != open_.end()) {
      if (open->second.claimed) {
        result = absl::AlreadyExistsError(str_cat(name(id), ": another call brings its bytes"));
      } else {
        open->second.claimed = true;
        result = open->second.upload;
      }
    } else if (waiting_.contains(id.bits())) {
      result =
          absl::AlreadyExistsError(str_cat(name(id), ": another call waits for its announcement"));
    } else if (waiting_.size() >= kMaxEarlyUploads) {
      result = absl::ResourceExhaustedError(str_cat(name(id), ": ", waiting_.size(),
                                                    " calls wait for announcements; at most ",
                                                    kMaxEarlyUploads, " are allowed"));
    } else {
      waiting_[id.bits()] = std::move(caller);
      return;
    }
  }
  caller(std::move(result));
}

bool UploadTable::has_ended(ValueId id) const {
  const absl::MutexLock lock(&mutex_);
  return ended_.contains(id.bits());
}

void UploadTable::cancel_claim(ValueId id, const absl::Status& reason) {
  Claim gone;
  const absl::MutexLock lock(&mutex_);
  const auto found = waiting_.find(id.bits());
  if (found == waiting_.end()) return;
  gone = std::move(found->second);
  waiting_.erase(found);
  remember_end(id, reason);
}

void UploadTable::close(const absl::Status& reason) {
  absl::flat_hash_map<uint64_t, Entry> open;
  absl::flat_hash_map<uint64_t, Claim> waiting;
  {
    const absl::MutexLock lock(&mutex_);
    closed_ = reason;
    open.swap(open_);
    waiting.swap(waiting_);
  }
  for (auto& [bits, entry] : open) entry.upload->fail(reason);
  for (auto& [bits, claim] : waiting) claim(reason);
}

void UploadTable::remember_end(ValueId id, const absl::Status& status) {
  if (!ended_.insert_or_assign(id.bits(), status).second) return;
  ended_order_.push_back(id.bits());
  if (ended_order_.size() <= kRememberedUploads) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

}  // namespace remora::server
