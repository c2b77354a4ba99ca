// A child process under a test's control: started with pipes, killed and reaped at the latest by
// its destructor. Owned by one thread. Its children get no signal when it is killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace remora::test {

/// How a process ended.
struct ExitState {
  int code = -1;   // of `exit`; -1 if a signal ended it
  int signal = 0;  // that ended it; 0 if none did
};

class ChildProcess {
 public:
  /// Starts `argv[0]`. stdout is a pipe that this object reads, stderr goes to a file, stdin is
  /// empty. Entries of `environment` ("NAME=value") are added to this process's. Throws
  /// std::runtime_error if it cannot start.
  explicit ChildProcess(const std::vector<std::string>& argv,
                        const std::vector<std::string>& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// The next line of stdout without its end. Throws std::runtime_error with the process's stderr
  /// if none comes within `timeout_ms`.
  std::string read_line(int timeout_ms = 30'000);
  void send_signal(int signal) const;
  /// Waits until it has ended. Throws std::runtime_error after `timeout_ms`.
  ExitState wait(int timeout_ms = 30'000);
  /// SIGKILL, then `wait`.
  ExitState kill();
  /// What it has written to stderr so far.
  std::string errors() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  ExitState state_;
  int output_ = -1;
  int errors_ = -1;  // an unlinked file
  int end_ = -1;     // a pidfd: readable when the process has ended
  std::string unread_;
};

/// What a program wrote, and its exit code.
struct ProgramResult {
  int code = -1;
  std::string output;
  std::string errors;
};

/// Runs `argv[0]` to its end. Throws std::runtime_error if that takes longer than `timeout_ms`.
ProgramResult run_program(const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment = {},
                          int timeout_ms = 30'000);

}  // namespace remora::test
