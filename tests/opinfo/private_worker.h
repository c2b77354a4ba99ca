// A worker daemon of this process's own, on a unix socket that nobody else can open. It ends with
// this object, and with this process however that ends.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace remora::opinfo {

class PrivateWorker {
 public:
  /// Starts `program` with one worker device, "cpu" or "cuda:0". UNAVAILABLE if it does not say
  /// where it listens in time.
  static absl::StatusOr<PrivateWorker> start(const std::filesystem::path& program,
                                             const std::string& device);
  PrivateWorker(PrivateWorker&& other) noexcept;
  PrivateWorker& operator=(PrivateWorker&&) = delete;
  ~PrivateWorker();

  /// "unix:/path/of/its/socket".
  const std::string& address() const { return address_; }

 private:
  PrivateWorker() = default;

  pid_t process_ = -1;
  int output_ = -1;  // its stdout; kept open so that it can go on writing
  std::filesystem::path directory_;
  std::string address_;
};

/// `remorad` beside the program that is running.
std::filesystem::path worker_program();

}  // namespace remora::opinfo
