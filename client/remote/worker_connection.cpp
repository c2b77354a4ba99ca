#include "client/remote/worker_connection.h"

#include <algorithm>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"
#include "client/remote/callback_scope.h"
#include "client/remote/channel.h"
#include "client/remote/tls_probe.h"
#include "dispatch/error.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"
#include "proto/default_socket.h"

namespace remora::remote {
namespace {

struct Connections {
  // Guards by_address, and which connection stands for which. Taken before a connection's own.
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, std::unique_ptr<WorkerConnection>> by_address
      ABSL_GUARDED_BY(mutex);
};

Connections& connections() {
  static auto& instance = [&]() -> Connections& {
    // Sessions end before gRPC's own statics do; the table itself outlives every thread.
    std::atexit(WorkerConnection::close_all);
    return *std::make_unique<Connections>().release();
  }();
  return instance;
}

void add_to(dispatch::WireStats& sum, const dispatch::WireStats& stats) {
  sum.frames_sent += stats.frames_sent;
  sum.frames_received += stats.frames_received;
  sum.bytes_sent += stats.bytes_sent;
  sum.bytes_received += stats.bytes_received;
  sum.round_trips += stats.round_trips;
  sum.graphs_defined += stats.graphs_defined;
}

}  // namespace

WorkerConnection& WorkerConnection::at(std::string_view address) {
  const std::string key = worker_key(address);
  const absl::MutexLock lock(&connections().mutex);
  auto& entry = connections().by_address[key];
  if (entry == nullptr) entry = std::make_unique<WorkerConnection>(key);
  return *entry;
}

std::vector<WorkerConnection*> WorkerConnection::environment_workers() {
  std::vector<WorkerConnection*> workers;
  const char* const variable = std::getenv("REMORA_WORKERS");
  if (variable == nullptr) {
    if (const auto path = wire::find_default_socket())
      workers.push_back(&at(str_cat("unix:", *path)));
    return workers;
  }
  std::string_view rest = variable;
  while (!rest.empty()) {
    const std::string_view address = rest.substr(0, rest.find(','));
    if (!address.empty()) workers.push_back(&at(address));
    rest.remove_prefix(std::min(rest.size(), address.size() + 1));
  }
  return workers;
}

absl::StatusOr<WorkerConnection*> WorkerConnection::default_worker() {
  const std::vector<WorkerConnection*> workers = environment_workers();
  if (!workers.empty()) return workers.front();
  return absl::FailedPreconditionError(
      str_cat("remote: no worker is named and none listens on ", wire::default_socket_path(),
              "; set REMORA_WORKERS to its address (host:port or unix:/path, several separated by "
              "commas) or name it in the device: remote://host:port"));
}

void WorkerConnection::close_all() {
  if (Session::in_child()) return;
  // First nobody waits for answers any more: a thread that still reads is not to be told of an exit
  // it cannot stop.
  dispatch::registry().stop();
  std::vector<WorkerConnection*> all;
  {
    const absl::MutexLock lock(&connections().mutex);
    for (const auto& [address, connection] : connections().by_address)
      all.push_back(connection.get());
  }
  for (WorkerConnection* connection : all) {
    connection->disconnect(absl::UnavailableError("the program is exiting"), kExitDeadline_ms);
  }
}

absl::StatusOr<std::shared_ptr<Session>> WorkerConnection::session() {
  // The check comes before any lock: in a forked child another thread's may be held for ever.
  REMORA_RETURN_IF_ERROR(Session::child_status(address_));
  if (WorkerConnection& other = resolved(); &other != this) return other.session();
  {
    const absl::MutexLock lock(&mutex_);
    if (current_ != nullptr) {
      REMORA_RETURN_IF_ERROR(current_->status());
      return current_;
    }
  }
  if (CallbackScope::inside()) {
    return absl::UnavailableError(str_cat(
        "worker ", address_, ": no session is open, and an answer's callback cannot open one"));
  }
  const absl::MutexLock opening(&opening_);
  {
    const absl::MutexLock lock(&mutex_);
    if (current_ != nullptr) {
      REMORA_RETURN_IF_ERROR(current_->status());
      return current_;
    }
  }
  if (WorkerConnection& other = resolved(); &other != this) return other.session();
  return open();
}

WorkerConnection& WorkerConnection::resolved() {
  WorkerConnection* connection = this;
  for (;;) {
    const absl::MutexLock lock(&connection->mutex_);
    if (connection->same_as_ == nullptr) return *connection;
    connection = connection->same_as_;
  }
}

// Called with the lock of all connections, so that of two that find each other one is first.
std::shared_ptr<Session> WorkerConnection::join(const WorkerDescription& worker,
                                                const WorkerLink& link) {
  for (const auto& [address, other] : connections().by_address) {
    if (other.get() == this) continue;
    const std::shared_ptr<Session> session = other->current();
    if (session == nullptr || !session->status().ok()) continue;
    if (worker.instance.empty() || session->description().instance != worker.instance) continue;
    if (session->link().token.text != link.token.text ||
        session->link().certificate != link.certificate) {
      continue;  // another identity, or not encrypted alike: its tensors are not this one's
    }
    const absl::MutexLock lock(&mutex_);
    same_as_ = other.get();
    return session;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<Session>> WorkerConnection::open() {
  destroy_ended();  // a program may try a worker again and again without ever disconnecting
  const RemoteOptions options = remote_options(address_);
  REMORA_RETURN_IF_ERROR(check_address(address_));
  WorkerLink link;
  link.address = address_;
  REMORA_ASSIGN_OR_RETURN(const std::optional<Tls> tls, load_tls(address_, options));
  REMORA_RETURN_IF_ERROR(check_privacy(address_, options, tls));
  REMORA_ASSIGN_OR_RETURN(link.token, load_token(address_, options));
  if (tls.has_value()) link.certificate = tls->material.certificate;
  link.deadline_ms = options.connect_deadline_ms;
  link.control = make_channel(address_, Plane::kControl, tls);
  link.bulk = make_channel(address_, Plane::kBulk, tls);
  absl::StatusOr<WorkerDescriptionPtr> description =
      describe(link.control, address_, options, link.token);
  if (!description.ok()) {
    if (absl::IsUnavailable(description.status())) {
      REMORA_RETURN_IF_ERROR(probe_tls(address_, options, tls));
    }
    return description.status();
  }
  {
    const absl::MutexLock lock(&connections().mutex);
    if (auto joined = join(**description, link)) return joined;
  }
  std::shared_ptr<Session> session = Session::make(std::move(link), *std::move(description));
  if (const absl::Status status = session->start(); !status.ok()) {
    session->close(status, 0);
    const absl::MutexLock lock(&mutex_);
    ended_.push_back(std::move(session));
    return status;
  }
  std::shared_ptr<Session> joined;
  {
    const absl::MutexLock all(&connections().mutex);
    // Another address of the same worker may have been connected meanwhile.
    joined = join(session->description(), session->link());
    if (joined == nullptr) {
      const absl::MutexLock lock(&mutex_);
      current_ = session;
      return session;
    }
  }
  session->close(absl::CancelledError("another address leads to the same worker"),
                 kCloseDeadline_ms);
  const absl::MutexLock lock(&mutex_);
  ended_.push_back(std::move(session));
  return joined;
}

std::shared_ptr<Session> WorkerConnection::current() const {
  if (Session::in_child()) return nullptr;
  const absl::MutexLock lock(&mutex_);
  return current_;
}

void WorkerConnection::disconnect(const absl::Status& reason, int deadline_ms) {
  if (Session::in_child()) return;
  if (WorkerConnection& other = resolved(); &other != this) {
    return other.disconnect(reason, deadline_ms);
  }
  const absl::MutexLock opening(&opening_);
  std::shared_ptr<Session> session;
  {
    const absl::MutexLock lock(&mutex_);
    session = current_;
  }
  if (session != nullptr) {
    session->close(reason, deadline_ms);
    const absl::MutexLock lock(&mutex_);
    add_to(ended_stats_, session->stats());
    current_.reset();
    ended_.push_back(std::move(session));
  }
  destroy_ended();
}

void WorkerConnection::destroy_ended() {
  std::vector<std::shared_ptr<Session>> unused;  // destroyed without the lock
  const absl::MutexLock lock(&mutex_);
  const auto in_use = [](const std::shared_ptr<Session>& each) {
    return each.use_count() > 1 || !each->done();
  };
  const auto first_unused = std::partition(ended_.begin(), ended_.end(), in_use);
  std::move(first_unused, ended_.end(), std::back_inserter(unused));
  ended_.erase(first_unused, ended_.end());
}

size_t WorkerConnection::ended_sessions() const {
  const absl::MutexLock lock(&mutex_);
  return ended_.size();
}

dispatch::WireStats WorkerConnection::stats() const {
  if (Session::in_child()) return {};
  const absl::MutexLock lock(&mutex_);
  dispatch::WireStats sum = ended_stats_;
  if (current_ != nullptr) add_to(sum, current_->stats());
  return sum;
}

void disconnect(std::string_view address) {
  WorkerConnection::at(address).disconnect(
      absl::UnavailableError(str_cat("worker ", address, ": the program disconnected from it")),
      kCloseDeadline_ms);
}

}  // namespace remora::remote
