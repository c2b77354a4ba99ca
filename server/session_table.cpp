#include "server/session_table.h"

#include <malloc.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "dispatch/error.h"
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

SessionTable::SessionTable(DeviceList devices, SessionRules rules)
    : devices_(std::move(devices)), rules_(std::move(rules)) {
  overdue_ = std::thread([this] { look_for_overdue(); });
}

SessionTable::~SessionTable() {
  drain(absl::UnavailableError("the worker is going down"));
  {
    const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return sessions_.empty(); };
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&empty));
    stopping_ = true;
  }
  overdue_.join();
  resumer_->stop();
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::open(std::weak_ptr<SessionStream> stream,
                                                            std::string peer,
                                                            const std::string& identity) {
  SessionSettings settings;
  settings.name = random_bytes(wire::kSessionNameBytes);
  settings.peer = std::move(peer);
  settings.instance = rules_.instance;
  settings.quota_bytes = rules_.session_quota_bytes;
  settings.timeouts = rules_.timeouts;
  settings.resume = [resumer = resumer_](std::weak_ptr<Session> session) {
    resumer->resume(std::move(session));
  };
  settings.ended = [this, name = settings.name] { remove(name); };
  REMORA_ASSIGN_OR_RETURN(DeviceList devices, devices_of(identity));
  const absl::MutexLock lock(&mutex_);
  if (!drained_.ok()) return drained_;
  if (sessions_.size() >= wire::kMaxSessions) {
    return absl::ResourceExhaustedError(str_cat("the worker has ", sessions_.size(),
                                                " sessions; at most ", wire::kMaxSessions,
                                                " are allowed"));
  }
  const IdentityQuota quota = quota_of(identity);
  Present& present = present_[identity];
  if (present.sessions >= quota.sessions) {
    const int64_t sessions = present.sessions;
    if (sessions == 0) present_.erase(identity);
    return absl::ResourceExhaustedError(str_cat("identity ", identity, " has ", sessions,
                                                " sessions; at most ", quota.sessions,
                                                " are allowed"));
  }
  if (present.identity == nullptr) {
    present.identity =
        std::make_shared<Identity>(identity, ++last_owner_, quota, std::move(devices));
  }
  ++present.sessions;
  settings.identity = present.identity;
  settings.number = ++last_number_;
  std::string name = settings.name;
  auto session = std::make_shared<Session>(std::move(settings), std::move(stream));
  sessions_.emplace(std::move(name), session);
  return session;
}

absl::StatusOr<std::shared_ptr<Session>> SessionTable::find(std::string_view name,
                                                            std::string_view identity) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(std::string(name));
  if (found == sessions_.end() || found->second->identity().name() != identity) {
    return absl::NotFoundError("the session that the call names has ended or was never open");
  }
  return found->second;
}

absl::StatusOr<DeviceList> SessionTable::devices_of(const std::string& identity) const {
  const auto limits = rules_.identities.find(identity);
  if (limits == rules_.identities.end() || !limits->second.devices.has_value()) return devices_;
  DeviceList allowed;
  std::string wanted;
  for (const DeviceChoice& choice : *limits->second.devices) {
    const std::string text = str_cat(backend_name(choice.kind), ":", choice.index);
    wanted += str_cat(wanted.empty() ? "" : ", ", text);
    for (const ServedDevice* device : devices_) {
      if (device->text == text) allowed.push_back(device);
    }
  }
  if (!allowed.empty()) return allowed;
  return absl::FailedPreconditionError(str_cat(
      "identity ", identity, ": this worker serves none of the devices it may use (", wanted, ")"));
}

IdentityQuota SessionTable::quota_of(const std::string& identity) const {
  IdentityQuota quota = rules_.identity_quota;
  if (const auto found = rules_.identities.find(identity); found != rules_.identities.end()) {
    const IdentityLimits& limits = found->second;
    quota.bytes = limits.bytes.value_or(quota.bytes);
    quota.in_flight_bytes = limits.in_flight_bytes.value_or(quota.in_flight_bytes);
    quota.sessions = limits.sessions.value_or(quota.sessions);
  }
  quota.in_flight_bytes = std::min(quota.in_flight_bytes, quota.bytes);
  return quota;
}

std::vector<std::shared_ptr<Session>> SessionTable::all() const {
  std::vector<std::shared_ptr<Session>> sessions;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, session] : sessions_) sessions.push_back(session);
  return sessions;
}

void SessionTable::drain(const absl::Status& reason) {
  {
    const absl::MutexLock lock(&mutex_);
    drained_ = reason;
  }
  for (const auto& session : all()) session->end(reason);
}

size_t SessionTable::size() const {
  const absl::MutexLock lock(&mutex_);
  return sessions_.size();
}

void SessionTable::remove(const std::string& name) {
  std::shared_ptr<Session> gone;  // destroyed without the lock
  std::shared_ptr<Identity> left;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = sessions_.find(name);
    if (found == sessions_.end()) return;
    const auto present = present_.find(found->second->identity().name());
    if (--present->second.sessions == 0) {
      left = std::move(present->second.identity);
      present_.erase(present);
    }
  }
  if (left != nullptr) {
    for (const ServedDevice* device : left->devices())
      device->state->backend().retire(left->owner());
  }
  bool last = false;
  {
    // Last: once no session is left, the devices may go.
    const absl::MutexLock lock(&mutex_);
    const auto found = sessions_.find(name);
    gone = std::move(found->second);
    sessions_.erase(found);
    last = sessions_.empty();
  }
  gone.reset();
  if (last) malloc_trim(0);  // millions of small blocks may have become free
}

void SessionTable::look_for_overdue() {
  // Often enough that a session lives at most a quarter longer than it may.
  auto shortest = rules_.timeouts.hello;
  for (const auto timeout : {rules_.timeouts.idle, rules_.timeouts.reply}) {
    if (timeout.count() > 0) shortest = std::min(shortest, timeout);
  }
  const absl::Duration period =
      std::max(absl::Milliseconds(shortest.count() / 4), absl::Milliseconds(kMinOverdueLook_ms));
  for (;;) {
    {
      const absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period)) return;
    }
    const auto now = std::chrono::steady_clock::now();
    for (const auto& session : all()) session->end_if_overdue(now);
  }
}

}  // namespace remora::server
