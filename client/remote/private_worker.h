// A worker daemon that this program starts for itself and that ends with it: for benchmarks and
// demonstrations. Owned by whoever starts it; not thread-safe. Start it from a thread that lives as
// long as the worker should.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace remora::remote {

struct PrivateWorkerOptions {
  /// The daemon's program; empty: `remorad` beside this program, else on PATH.
  std::string program = {};
  /// "127.0.0.1:0" or "unix:/path"; empty: a unix socket in the worker's own directory.
  std::string listen = "127.0.0.1:0";
  /// More arguments: {"--devices", "cpu,cpu"}.
  std::vector<std::string> arguments = {};
};

class PrivateWorker {
  struct Passkey {};

 public:
  /// Starts the daemon with a fresh token, waits until it listens (at most the control deadline)
  /// and sets the remote options of its address. The error says what the daemon was and why it did
  /// not come up.
  static absl::StatusOr<std::unique_ptr<PrivateWorker>> start(const PrivateWorkerOptions& options);
  PrivateWorker(Passkey, std::string directory) : directory_(std::move(directory)) {}
  /// Ends the daemon and removes its directory.
  ~PrivateWorker();
  PrivateWorker(const PrivateWorker&) = delete;

  /// As a device names it: "127.0.0.1:40123" or "unix:/path".
  const std::string& address() const { return address_; }
  const std::string& token_file() const { return token_file_; }
  pid_t pid() const { return pid_; }

 private:
  absl::Status launch(const PrivateWorkerOptions& options);
  absl::Status await_address(int stdout_fd, const std::string& program);

  const std::string directory_;
  std::string token_file_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace remora::remote
