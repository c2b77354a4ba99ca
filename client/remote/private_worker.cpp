#include "client/remote/private_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "client/remote/options.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::remote {
namespace {

constexpr std::string_view kListening = "listening on ";
constexpr size_t kMaxFirstLineBytes = 4096;
constexpr auto kPollInterval = std::chrono::milliseconds(5);

absl::Status system_error(std::string_view what) {
  return absl::UnavailableError(str_cat("private worker: ", what, ": ", std::strerror(errno)));
}

std::string default_program() {
  std::error_code ignored;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "remorad";
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : "remorad";
}

absl::Status write_token(const std::string& path) {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 8; ++i) token += absl::StrCat(absl::Hex(random(), absl::kZeroPad8));
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return system_error(path);
  const bool written = write(fd, token.data(), token.size()) == static_cast<ssize_t>(token.size());
  close(fd);
  return written ? absl::OkStatus() : system_error(path);
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

absl::StatusOr<std::unique_ptr<PrivateWorker>> PrivateWorker::start(
    const PrivateWorkerOptions& options) {
  std::string directory = (std::filesystem::temp_directory_path() / "remora-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return system_error(directory);
  auto worker = std::make_unique<PrivateWorker>(Passkey{}, directory);
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
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

absl::Status PrivateWorker::launch(const PrivateWorkerOptions& options) {
  token_file_ = directory_ + "/token";
  REMORA_RETURN_IF_ERROR(write_token(token_file_));
  const std::string program = options.program.empty() ? default_program() : options.program;
  const std::string listen =
      options.listen.empty() ? str_cat("unix:", directory_, "/socket") : options.listen;
  std::vector<std::string> words = {program,        "--listen",  listen,
                                    "--token-file", token_file_, "--exit-with-parent"};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int failed =
      posix_spawnp(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
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
  REMORA_RETURN_IF_ERROR(status);
  RemoteOptions remote;
  remote.token_file = token_file_;
  set_remote_options(address_, std::move(remote));
  return absl::OkStatus();
}

absl::Status PrivateWorker::await_address(int stdout_fd, const std::string& program) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(wire::kControlDeadline_ms);
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < kMaxFirstLineBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waited{stdout_fd, POLLIN, 0};
    if (left.count() <= 0 || poll(&waited, 1, static_cast<int>(left.count())) == 0) {
      return absl::UnavailableError(str_cat("private worker: ", program,
                                            " did not say where it listens within ",
                                            wire::kControlDeadline_ms, " ms"));
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
