// One device of a worker as a Backend: encodes windows into the worker's session and moves bytes;
// it computes nothing. Devices of one worker share its session.
//
// Threads: as Backend says. Lives: for as long as its DeviceState; sessions come and go beneath it,
// and a plan or tensor of an earlier session answers with the reason that one ended.
#pragma once

#include <memory>
#include <string>

#include "client/remote/worker_connection.h"
#include "dispatch/backend.h"

namespace remora::remote {

class RemoteBackend final : public dispatch::Backend {
 public:
  /// Connects, and finds the device by its text form on the worker ("" is its default device).
  static absl::StatusOr<std::unique_ptr<RemoteBackend>> open(WorkerConnection& connection,
                                                             std::string_view device_text);
  RemoteBackend(WorkerConnection& connection, WorkerDescriptionPtr description, uint32_t device)
      : connection_(connection), description_(std::move(description)), device_(device) {}

  dispatch::DeviceInfo info() const override;
  bool supports(dispatch::OpCode code, DType dtype) const override {
    return described().supports(code, dtype);
  }
  absl::StatusOr<std::unique_ptr<dispatch::Plan>> prepare(dispatch::GraphPtr graph,
                                                          const dispatch::LiveSet& live) override;
  dispatch::RunResult run(dispatch::Plan& plan, const dispatch::RunRequest& request) override;
  absl::StatusOr<dispatch::Buffer> upload(dispatch::ValueId id, dispatch::HostData data) override;
  void download(const dispatch::Buffer& buffer, dispatch::ReadCallback done) override;
  void download_all(std::span<const dispatch::Buffer> buffers,
                    std::vector<dispatch::ReadCallback> done) override;
  /// Between devices of one worker. UNIMPLEMENTED between workers: the copy then goes through this
  /// process.
  absl::StatusOr<dispatch::Buffer> copy_from(dispatch::Backend& source,
                                             const dispatch::Buffer& buffer,
                                             dispatch::ValueId id) override;
  void flush() override;
  absl::Status synchronize() override;
  bool runs_inline() const override { return true; }
  dispatch::MemoryUse memory() const override;
  dispatch::WireStats wire_stats() const override { return connection_.stats(); }

 private:
  /// A session and this device's place in it; a worker that was started again may number them
  /// otherwise.
  struct Place {
    std::shared_ptr<Session> session;
    uint32_t device = 0;
  };
  absl::StatusOr<Place> place() const;
  const RemoteDevice& described() const { return description_->devices[device_]; }

  WorkerConnection& connection_;
  const WorkerDescriptionPtr description_;  // of the first session
  const uint32_t device_;                   // in description_
};

}  // namespace remora::remote
