#include "server/session_table.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t done = 0; done < count;) {
    const ssize_t got = getrandom(bytes.data() + done, count - done, 0);
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      // A name that can be guessed is worse than no worker.
      spdlog::critical("getrandom failed: the kernel gives no random bytes");
      std::abort();
    }
  }
  return bytes;
}

SessionTable::~SessionTable() {
  drain(absl::UnavailableError("the worker is going down"));
  {
    const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return sessions_.empty(); };
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&empty));
  }
  resumer_->stop();
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::open(std::weak_ptr<SessionStream> stream,
                                                            std::string peer) {
  SessionSettings settings;
  settings.name = random_bytes(kSessionNameBytes);
  settings.peer = std::move(peer);
  settings.instance = instance_;
  settings.quota_bytes = quota_bytes_;
  settings.devices = devices_;
  settings.resume = [resumer = resumer_](std::weak_ptr<Session> session) {
    resumer->resume(std::move(session));
  };
  settings.ended = [this, name = settings.name] { remove(name); };
  const absl::MutexLock lock(&mutex_);
  if (!drained_.ok()) return drained_;
  if (sessions_.size() >= wire::kMaxSessions) {
    return absl::ResourceExhaustedError(str_cat("the worker has ", sessions_.size(),
                                                " sessions; at most ", wire::kMaxSessions,
                                                " are allowed"));
  }
  settings.number = ++last_number_;
  std::string name = settings.name;
  auto session = std::make_shared<Session>(std::move(settings), std::move(stream));
  sessions_.emplace(std::move(name), session);
  return session;
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::find(std::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(std::string(name));
  if (found == sessions_.end()) {
    return absl::NotFoundError("the session that the call names has ended or was never open");
  }
  return found->second;
}

void SessionTable::drain(const absl::Status& reason) {
  std::vector<std::shared_ptr<Session>> sessions;
  {
    const absl::MutexLock lock(&mutex_);
    drained_ = reason;
    for (const auto& [name, session] : sessions_) sessions.push_back(session);
  }
  for (const auto& session : sessions) session->end(reason);
}

size_t SessionTable::size() const {
  const absl::MutexLock lock(&mutex_);
  return sessions_.size();
}

void SessionTable::remove(const std::string& name) {
  std::shared_ptr<Session> gone;  // destroyed without the lock
  const absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(name);
  if (found == sessions_.end()) return;
  gone = std::move(found->second);
  sessions_.erase(found);
}

}  // namespace remora::server
