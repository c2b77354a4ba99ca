#include "client/remote/private_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "client/remote/options.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/token.h"

namespace remora::remote {
namespace {

constexpr std::string_view kListening = "listening on ";
constexpr size_t kMaxFirstLineBytes = 4096;
constexpr size_t kMaxLogBytes = 16384;
constexpr int kStartDeadline_ms = 30'000;  // a sanitizer's or a GPU's start is slow
constexpr auto kPollInterval = std::chrono::milliseconds(5);

absl::Status system_error(std::string_view what) {
  return absl::UnavailableError(str_cat("private worker: ", what, ": ", std::strerror(errno)));
}

std::string& worker_program() {
  static auto& path = *new std::string("remorad");  // leaked: workers may start until the end
  return path;
}

std::string default_program() {
  std::error_code ignored;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "remorad";
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : worker_program();
}

/// A file in memory that nobody else may read, gone with its last descriptor.
int memory_file(const char* name, std::string_view contents) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return fd;
  if (fchmod(fd, 0600) != 0 ||
      write(fd, contents.data(), contents.size()) != static_cast<ssize_t>(contents.size()) ||
      lseek(fd, 0, SEEK_SET) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/// True once the process has ended within the time; it is then gone.
bool wait_for_exit(pid_t pid, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    if (waitpid(pid, nullptr, WNOHANG) != 0) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace

void set_worker_program(std::string path) { worker_program() = std::move(path); }

absl::StatusOr<std::unique_ptr<PrivateWorker>> PrivateWorker::start(
    const PrivateWorkerOptions& options) {
  auto worker = std::make_unique<PrivateWorker>(Passkey{});
  REMORA_RETURN_IF_ERROR(worker->launch(options));
  return worker;
}

PrivateWorker::~PrivateWorker() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    if (!wait_for_exit(pid_, std::chrono::milliseconds(kCloseDeadline_ms))) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  if (log_fd_ >= 0) close(log_fd_);
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

absl::Status PrivateWorker::launch(const PrivateWorkerOptions& options) {
  std::string listen = options.listen;
  if (listen.empty()) {
    std::string directory = (std::filesystem::temp_directory_path() / "remora-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) return system_error(directory);
    directory_ = directory;
    listen = str_cat("unix:", directory_, "/socket");
  }
  const std::string program = options.program.empty() ? default_program() : options.program;
  std::vector<std::string> words = {"remorad",      "--listen",        listen,
                                    "--token-file", "/proc/self/fd/0", "--exit-with-parent"};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  RemoteOptions remote;
  remote.token = wire::make_token();
  remote.tls_ca = kNoCa;  // whatever the environment says of other workers
  const int tokens_fd = memory_file(
      "remorad-tokens", str_cat("parent:", wire::to_hex(wire::token_hash(remote.token)), "\n"));
  log_fd_ = memory_file("remorad-log", "");
  int ends[2] = {-1, -1};
  if (tokens_fd < 0 || log_fd_ < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    const absl::Status status = system_error("memory file or pipe");
    if (tokens_fd >= 0) close(tokens_fd);
    return status;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, tokens_fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log_fd_, STDERR_FILENO);
  const int failed =
      posix_spawnp(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(tokens_fd);
  close(ends[1]);
  absl::Status status;
  if (failed != 0) {
    pid_ = -1;
    errno = failed;
    status = system_error(program);
  } else {
    status = await_address(ends[0], program);
  }
  close(ends[0]);
  if (!status.ok()) {
    return absl::Status(status.code(), str_cat(std::string(status.message()), "\n", log()));
  }
  set_remote_options(address_, std::move(remote));
  return absl::OkStatus();
}

std::string PrivateWorker::log() const {
  std::string text(kMaxLogBytes, '\0');
  const ssize_t bytes = pread(log_fd_, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return text;
}

absl::Status PrivateWorker::await_address(int stdout_fd, const std::string& program) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kStartDeadline_ms);
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < kMaxFirstLineBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waited{stdout_fd, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return system_error(program);
    if (ready == 0) {
      return absl::UnavailableError(str_cat("private worker: ", program,
                                            " did not say where it listens within ",
                                            kStartDeadline_ms, " ms"));
    }
    char buffer[256];
    const ssize_t bytes = read(stdout_fd, buffer, sizeof buffer);
    if (bytes == 0) {
      return absl::UnavailableError(
          str_cat("private worker: ", program, " ended before it listened"));
    }
    if (bytes < 0 && errno != EINTR) return system_error(program);
    if (bytes > 0) line.append(buffer, static_cast<size_t>(bytes));
  }
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.starts_with(kListening)) {
    return absl::UnavailableError(str_cat("private worker: ", program, " said '", line, "'; '",
                                          kListening, "ADDRESS' was expected"));
  }
  address_ = line.substr(kListening.size());
  return absl::OkStatus();
}

}  // namespace remora::remote
