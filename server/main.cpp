// remorad: from the command line to a served worker, and down again at SIGTERM or SIGINT.
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "dispatch/build_info.h"
#include "dispatch/error.h"
#include "server/auth.h"
#include "server/health.h"
#include "server/listen_address.h"
#include "server/options.h"
#include "server/worker.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace remora::server {
namespace {

/// Signals are blocked in every thread and taken by `sigwait` in the main one: no handler runs
/// anywhere.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A reader of our output that goes away must not end the worker.
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

/// Has the kernel send SIGTERM when the parent ends (Linux: when the thread that started this
/// process ends). False if it has ended already.
bool follow_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The parent may have ended before the kernel was asked.
  return getppid() == parent;
}

absl::Status serve(const Options& options, const sigset_t& signals) {
  REMORA_ASSIGN_OR_RETURN(const ListenAddress address, parse_listen_address(options.listen));
  REMORA_ASSIGN_OR_RETURN(Authenticator authenticator, Authenticator::create(options, address));
  REMORA_ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker,
                          Worker::create(options, std::move(authenticator)));
  REMORA_ASSIGN_OR_RETURN(const std::unique_ptr<Endpoint> endpoint,
                          Endpoint::listen(*worker, address));
  std::printf("listening on %s\n", endpoint->address().str().c_str());
  std::fflush(stdout);
  spdlog::info("serving {} device(s) on {}{}", options.devices.size(), endpoint->address().str(),
               worker->authenticator().needs_token() ? "" : ", without a token");
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  spdlog::info("draining after {}", signal_number == SIGTERM ? "SIGTERM" : "SIGINT");
  endpoint->drain();
  return absl::OkStatus();
}

int run(int argc, char** argv) {
  const pid_t parent = getppid();
  const sigset_t signals = block_signals();
  spdlog::set_default_logger(spdlog::stderr_color_mt("remorad"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  spdlog::flush_on(spdlog::level::info);
  const ParsedOptions parsed = parse_options(argc, argv);
  if (!parsed.options) {
    std::fputs(parsed.message.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  if (const int followed = parsed.options->parent; followed != kNoParent) {
    if (!follow_parent(followed == kAnyParent ? parent : followed)) return 0;
  }
  const absl::Status status = serve(*parsed.options, signals);
  if (status.ok()) return 0;
  std::fprintf(stderr, "remorad: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace remora::server

int main(int argc, char** argv) { return remora::server::run(argc, argv); }
