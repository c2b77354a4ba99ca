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
  /// The daemon's program; empty: `remorad` beside this program, else what
  /// `set_worker_program` said, else `remorad` on PATH. It is called by the name `remorad`.
  std::string program = {};
  /// "127.0.0.1:0" or "unix:/path"; empty: a unix socket in a directory made for it.
  std::string listen = "127.0.0.1:0";
  /// More arguments: {"--devices", "cpu,cpu"}.
  std::vector<std::string> arguments = {};
};

/// For programs that contain the daemon: the file that is one when it is called `remorad`. Called
/// once, before any worker is started.
void set_worker_program(std::string path);

class PrivateWorker {
  struct Passkey {};

 public:
  /// Starts the daemon with a fresh token that never touches a disk, waits until it listens and
  /// sets the remote options of its address. The error says what the daemon was and why it did not
  /// come up, with its log.
  static absl::StatusOr<std::unique_ptr<PrivateWorker>> start(const PrivateWorkerOptions& options);
  explicit PrivateWorker(Passkey) {}
  /// Ends the daemon; removes the directory of its socket, if it has one.
  ~PrivateWorker();
  PrivateWorker(const PrivateWorker&) = delete;

  /// As a device names it: "127.0.0.1:40123" or "unix:/path".
  const std::string& address() const { return address_; }
  /// What the daemon has logged so far, at most its first 16 KiB.
  std::string log() const;
  pid_t pid() const { return pid_; }

 private:
  absl::Status launch(const PrivateWorkerOptions& options);
  absl::Status await_address(int stdout_fd, const std::string& program);

  std::string directory_;  // of a socket of its own; else empty
  std::string address_;
  pid_t pid_ = -1;
  int log_fd_ = -1;  // a memory file
};

}  // namespace remora::remote
