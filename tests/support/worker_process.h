// A real remorad for a test: started on a unix socket or a free port, listening when the
// constructor returns, gone when the destructor returns. Used by one thread at a time. The worker
// follows this process (`--exit-with-parent`), not the thread that started it, so that it goes away
// even when the test is killed. What a sanitizer has found in the worker fails the test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace remora::test {

struct WorkerOptions {
  std::vector<std::string> flags = {};  // added to the command line
  bool tcp = false;                     // a free port of 127.0.0.1 instead of a unix socket
  std::string token = {};               // of "test"; empty: none; with `tcp` then --insecure
  bool tls = false;                     // the flags say who may call
};

class WorkerProcess {
 public:
  /// Throws std::runtime_error with the worker's stderr if it does not listen.
  explicit WorkerProcess(WorkerOptions options = {});
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;

  /// "127.0.0.1:40001" or "unix:/path": what Device::remote and gRPC take.
  const std::string& address() const { return address_; }
  /// The text of a device: "remote://127.0.0.1:40001/cpu:1", "remote+unix:///path/cpu".
  std::string device(const std::string& inner = "cpu") const;
  const std::string& token() const { return options_.token; }
  /// A file with the token, as REMORA_TOKEN_FILE wants it.
  std::string token_file() const;

  pid_t pid() const { return process_->pid(); }
  /// SIGTERM, then waits for the end.
  ExitState terminate();
  /// SIGKILL: for its clients it is dead at once.
  ExitState kill() { return process_->kill(); }
  ExitState wait() { return process_->wait(); }
  /// Its log so far.
  std::string log() const { return process_->errors(); }

 private:
  const WorkerOptions options_;
  std::string folder_;  // of the socket and the token file
  std::unique_ptr<ChildProcess> process_;
  std::string address_;
};

/// Writes a file that nobody else can read.
void write_private(const std::string& path, const std::string& content);

/// A line of the worker's --token-file.
std::string token_line(const std::string& name, const std::string& token);

/// The path of the remorad of this build.
std::string remorad_path();

}  // namespace remora::test
