#include "tests/support/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace remora::test {
namespace {

using Clock = std::chrono::steady_clock;

/// True if `file` became readable in time.
bool wait_readable(int file, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited{file, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left.count()));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& argv,
                           const std::vector<std::string>& environment) {
  std::array<int, 2> output{};
  if (pipe2(output.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  output_ = output[0];
  errors_ = memfd_create("stderr", MFD_CLOEXEC);
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
  const int error = posix_spawn(&pid_, arguments[0].c_str(), &actions, nullptr,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(output[1]);
  if (error != 0) {
    close(output_);
    close(errors_);
    throw std::runtime_error(argv[0] + " does not start: " + std::strerror(error));
  }
  end_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

ChildProcess::~ChildProcess() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
  close(errors_);
  close(end_);
}

std::string ChildProcess::read_line(int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    std::array<char, 4096> bytes;
    const ssize_t count =
        wait_readable(output_, deadline) ? read(output_, bytes.data(), bytes.size()) : 0;
    if (count <= 0) throw std::runtime_error("no line came from process; its stderr:\n" + errors());
    unread_.append(bytes.data(), static_cast<size_t>(count));
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

void ChildProcess::send_signal(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

ExitState ChildProcess::wait(int timeout_ms) {
  if (ended_) return state_;
  if (!wait_readable(end_, Clock::now() + std::chrono::milliseconds(timeout_ms))) {
    throw std::runtime_error("process does not end; its stderr:\n" + errors());
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  ended_ = true;
  if (WIFEXITED(status)) state_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) state_.signal = WTERMSIG(status);
  return state_;
}

ExitState ChildProcess::kill() {
  send_signal(SIGKILL);
  return wait();
}

std::string ChildProcess::errors() const {
  std::string text;
  std::array<char, 4096> bytes;
  for (off_t at = 0;;) {
    const ssize_t count = pread(errors_, bytes.data(), bytes.size(), at);
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<size_t>(count));
    at += count;
  }
}

ProgramResult run_program(const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment, int timeout_ms) {
  ChildProcess process(argv, environment);
  ProgramResult result;
  // Lines until the end of its output, which reads as an error.
  try {
    for (;;) result.output += process.read_line(timeout_ms) + "\n";
  } catch (const std::runtime_error&) {
  }
  result.code = process.wait(timeout_ms).code;
  result.errors = process.errors();
  return result;
}

}  // namespace remora::test
