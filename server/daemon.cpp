#include "server/daemon.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "dispatch/build_info.h"
#include "dispatch/error.h"
#include "dispatch/lock_checks.h"
#include "dispatch/str_cat.h"
#include "server/auth.h"
#include "server/endpoint.h"
#include "server/limits.h"
#include "server/listen_address.h"
#include "server/options.h"
#include "server/worker.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace remora::server {
namespace {

/// Readable once SIGTERM or SIGINT has come. Signals are not blocked and waited for instead, since
/// a thread that a library started before `main` would not have them blocked.
int signal_arrived = -1;
/// Atomic, since any thread may be the one that takes the signal.
std::atomic<int> arrived_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int number) {
  const int error = errno;
  arrived_signal = number;
  const uint64_t one = 1;
  // Cannot fail: the counter of an eventfd has room for more signals than there will ever be.
  [[maybe_unused]] const ssize_t written = write(signal_arrived, &one, sizeof(one));
  errno = error;
}

absl::Status watch_signals() {
  signal_arrived = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signal_arrived < 0) {
    return absl::InternalError(str_cat("eventfd: ", std::strerror(errno)));
  }
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // Whoever started this process may have had them blocked.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  // A reader of our output that goes away must not end the worker.
  signal(SIGPIPE, SIG_IGN);
  return absl::OkStatus();
}

/// A file that is readable when `parent` has ended, whichever of its threads started this process;
/// -1 if it is not the parent any more.
absl::StatusOr<int> watch_parent(pid_t parent) {
  const auto end = static_cast<int>(syscall(SYS_pidfd_open, parent, 0));
  const int error = errno;
  // Only while it is the parent is its id no other process's.
  if (getppid() != parent) {
    if (end >= 0) close(end);
    return -1;
  }
  if (end >= 0) return end;
  return absl::UnavailableError(str_cat("--exit-with-parent: process ", parent,
                                        " cannot be watched: ", std::strerror(error)));
}

/// Waits for a signal or the end of the parent, if `parent_end` is a file; says which it was.
std::string_view wait_for_end(int parent_end) {
  pollfd ends[] = {{signal_arrived, POLLIN, 0}, {parent_end, POLLIN, 0}};
  while (poll(ends, 2, -1) < 0 && errno == EINTR) continue;
  if (ends[0].revents == 0) return "the end of its parent";
  return arrived_signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

/// Ends the process if it has not ended by itself in time: an operation that runs cannot be
/// stopped, and may be as long as a client has asked for.
class LastResort {
 public:
  explicit LastResort(ListenAddress address) : address_(std::move(address)) {
    thread_ = std::thread([this] {
      if (over_.WaitForNotificationWithTimeout(absl::Milliseconds(kExitDeadline_ms))) return;
      spdlog::warn("an operation is still running after {} ms and ends with this process",
                   kExitDeadline_ms);
      if (address_.is_unix) unlink(address_.path.c_str());
      _exit(0);
    });
  }
  ~LastResort() {
    over_.Notify();
    thread_.join();
  }
  LastResort(const LastResort&) = delete;

 private:
  const ListenAddress address_;
  absl::Notification over_;
  std::thread thread_;
};

absl::Status serve(const Options& options, int parent_end) {
  std::optional<LastResort> last_resort;  // outlives what it waits for
  REMORA_ASSIGN_OR_RETURN(const ListenAddress address, parse_listen_address(options.listen));
  REMORA_ASSIGN_OR_RETURN(Authenticator authenticator, Authenticator::create(options, address));
  REMORA_ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker,
                          Worker::create(options, std::move(authenticator)));
  REMORA_ASSIGN_OR_RETURN(ListenSockets sockets, ListenSockets::open(address));
  const std::string listening = sockets.address().str();
  const Authenticator& access = worker->authenticator();
  const bool encrypted = !access.tls().certificate.empty();
  log_grpc_messages(encrypted);
  REMORA_ASSIGN_OR_RETURN(const std::unique_ptr<Endpoint> endpoint,
                          Endpoint::serve(*worker, std::move(sockets)));
  std::printf("listening on %s\n", listening.c_str());
  std::fflush(stdout);
  spdlog::info("serving {} device(s) on {}{}{}", worker->device_count(), listening,
               encrypted ? ", encrypted" : "",
               access.needs_credentials() ? "" : ", to everybody who can connect");
  spdlog::info("draining after {}", wait_for_end(parent_end));
  last_resort.emplace(address);
  endpoint->drain();
  return absl::OkStatus();
}

int fail(const absl::Status& status) {
  std::fprintf(stderr, "remorad: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int run_daemon(int argc, char** argv) {
  dispatch::set_lock_checks();
  const pid_t parent = getppid();
  // A lock or pipe of whoever started this process must not stay held because of it. Errors (an
  // old kernel) leave them open.
  close_range(STDERR_FILENO + 1, ~0u, 0);
  if (const absl::Status status = watch_signals(); !status.ok()) return fail(status);
  spdlog::set_default_logger(spdlog::stderr_color_mt("remorad"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  spdlog::flush_on(spdlog::level::info);
  const ParsedOptions parsed = parse_options(argc, argv);
  if (!parsed.options) {
    std::fputs(parsed.message.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  spdlog::set_level(spdlog::level::from_str(parsed.options->log_level));
  int parent_end = -1;
  if (const int followed = parsed.options->parent; followed != kNoParent) {
    const absl::StatusOr<int> end = watch_parent(followed == kAnyParent ? parent : followed);
    if (!end.ok()) return fail(end.status());
    if (*end < 0) return 0;
    parent_end = *end;
  }
  const absl::Status status = serve(*parsed.options, parent_end);
  return status.ok() ? 0 : fail(status);
}

}  // namespace remora::server
