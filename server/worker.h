// A worker: the devices it serves, the sessions it has and who may call. What the gRPC handlers
// delegate to; knows nothing of gRPC. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "remora/v1/worker.pb.h"
#include "server/auth.h"
#include "server/options.h"
#include "server/served_devices.h"
#include "server/session_table.h"

namespace remora::server {

class Worker {
 public:
  /// Opens the devices. Errors say which device or option is wrong.
  static absl::StatusOr<std::unique_ptr<Worker>> create(const Options& options,
                                                        Authenticator authenticator);

  const Authenticator& authenticator() const { return authenticator_; }
  SessionTable& sessions() { return *sessions_; }
  /// The worker as this identity may use it.
  absl::StatusOr<v1::DescribeReply> describe(const std::string& identity) const;
  size_t device_count() const { return devices_.size(); }
  /// How long an upload call may bring no bytes.
  std::chrono::milliseconds upload_deadline() const { return upload_deadline_; }
  /// How often a connection without traffic is asked whether its peer is there.
  std::chrono::milliseconds keepalive() const { return keepalive_; }

 private:
  Worker(std::vector<ServedDevice> devices, Authenticator authenticator, const Options& options);

  const std::vector<ServedDevice> devices_;
  const Authenticator authenticator_;
  const std::chrono::milliseconds upload_deadline_;
  const std::chrono::milliseconds keepalive_;
  const std::string instance_;
  int64_t session_quota_bytes_ = 0;
  std::unique_ptr<SessionTable> sessions_;
};

}  // namespace remora::server
