#include "tests/opinfo/private_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <system_error>
#include <vector>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/opinfo/limits.h"

extern char** environ;

namespace remora::opinfo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kListening = "listening on ";

absl::Status failure(std::string_view what, int error) {
  return absl::UnavailableError(str_cat("private worker: ", what, ": ", std::strerror(error)));
}

/// The first line that arrives on `file` before `deadline`.
absl::StatusOr<std::string> first_line(int file, Clock::time_point deadline) {
  std::string line;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited{file, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return absl::UnavailableError(
          str_cat("private worker: said nothing within ", kWorkerStartTimeoutMs, " ms"));
    }
    char byte = 0;
    const ssize_t count = read(file, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::UnavailableError("private worker: it ended before it listened");
    if (byte == '\n') return line;
    line += byte;
  }
}

/// Waits until the process has closed its end of `file`, which it does by ending; false at the
/// deadline.
bool closed(int file, Clock::time_point deadline) {
  std::array<char, 4096> bytes;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited{file, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (read(file, bytes.data(), bytes.size()) == 0) return true;
  }
}

absl::StatusOr<pid_t> spawn(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t process = -1;
  const int error =
      posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failure(str_cat("cannot start ", command[0]), error);
  return process;
}

}  // namespace

absl::StatusOr<PrivateWorker> PrivateWorker::start(const std::filesystem::path& program,
                                                   const std::string& device) {
  std::string directory =
      (std::filesystem::temp_directory_path() / "remora-opinfo-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return failure("no directory for its socket", errno);
  PrivateWorker worker;
  worker.directory_ = directory;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure("no pipe", errno);
  worker.output_ = ends[0];
  auto process = spawn({program.string(), "--listen", str_cat("unix:", directory, "/socket"),
                        "--devices", device, "--exit-with-parent"},
                       ends[1]);
  close(ends[1]);
  if (!process.ok()) return process.status();
  worker.process_ = *process;
  const auto deadline = Clock::now() + std::chrono::milliseconds(kWorkerStartTimeoutMs);
  REMORA_ASSIGN_OR_RETURN(const std::string line, first_line(worker.output_, deadline));
  if (line.rfind(kListening, 0) != 0) {
    return absl::UnavailableError(
        str_cat("private worker: said \"", line, "\" instead of \"", kListening, "ADDRESS\""));
  }
  worker.address_ = line.substr(kListening.size());
  return worker;
}

PrivateWorker::PrivateWorker(PrivateWorker&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      output_(std::exchange(other.output_, -1)),
      directory_(std::exchange(other.directory_, {})),
      address_(std::move(other.address_)) {}

PrivateWorker::~PrivateWorker() {
  if (process_ > 0) {
    kill(process_, SIGTERM);
    if (!closed(output_, Clock::now() + std::chrono::milliseconds(kWorkerExitTimeoutMs))) {
      kill(process_, SIGKILL);
    }
    waitpid(process_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

std::filesystem::path worker_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "remorad";
}

}  // namespace remora::opinfo
