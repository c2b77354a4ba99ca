// Backends for tests of dispatch: one that computes nothing, and one that runs graphs on the slow
// reference, with hooks to hold it up or to make it fail.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/backend.h"
#include "tests/reference/array.h"

namespace remora::test {

/// Every result is zero. Stands for a kind of device that this machine may not have.
class NullBackend : public dispatch::Backend {
 public:
  explicit NullBackend(std::string name) : name_(std::move(name)) {}

  dispatch::DeviceInfo info() const override { return {name_, "null", 0}; }
  bool supports(dispatch::OpCode, DType) const override { return true; }
  absl::StatusOr<std::unique_ptr<dispatch::Plan>> prepare(dispatch::GraphPtr graph,
                                                          const dispatch::LiveSet& live) override;
  dispatch::RunResult run(dispatch::Plan& plan, const dispatch::RunRequest& request) override;
  absl::StatusOr<dispatch::Buffer> upload(dispatch::ValueId id, dispatch::HostData data) override;
  void download(const dispatch::Buffer& buffer, dispatch::ReadCallback done) override;
  absl::Status synchronize() override { return absl::OkStatus(); }
  dispatch::MemoryUse memory() const override { return {}; }

 private:
  const std::string name_;
};

/// Runs every op by the slow reference, for every dtype the reference has.
class InterpreterBackend : public dispatch::Backend {
 public:
  /// What a test may look at or change; any thread.
  struct Hooks {
    /// Called before each run, outside all locks of this class: may wait.
    std::function<void(const dispatch::Graph&, const dispatch::RunRequest&)> before_run = {};
    /// A status that is not OK makes this op fail.
    std::function<absl::Status(const dispatch::GraphOp&)> fail_op = {};
    /// Runs of more ops than this do not fit as a whole.
    size_t max_ops_at_once = SIZE_MAX;
    /// FAST rows have no kernel.
    bool lacks_fast_rows = false;
    /// Nothing of this element type runs or is held.
    std::optional<DType> lacks_dtype = {};
  };
  void set_hooks(Hooks hooks);

  /// Bytes of all storages of all interpreters.
  static int64_t live_bytes();
  uint64_t runs() const { return runs_.load(); }
  uint64_t prepares() const { return prepares_.load(); }
  uint64_t flushes() const { return flushes_.load(); }

  dispatch::DeviceInfo info() const override { return {"interpreter", "interpreter", 0}; }
  bool supports(dispatch::OpCode code, DType dtype) const override;
  absl::StatusOr<std::unique_ptr<dispatch::Plan>> prepare(dispatch::GraphPtr graph,
                                                          const dispatch::LiveSet& live) override;
  dispatch::RunResult run(dispatch::Plan& plan, const dispatch::RunRequest& request) override;
  absl::StatusOr<dispatch::Buffer> upload(dispatch::ValueId id, dispatch::HostData data) override;
  void download(const dispatch::Buffer& buffer, dispatch::ReadCallback done) override;
  void flush() override { flushes_.fetch_add(1); }
  absl::Status synchronize() override { return absl::OkStatus(); }
  dispatch::MemoryUse memory() const override { return {live_bytes(), 0, 0}; }

 private:
  Hooks hooks() const;

  mutable absl::Mutex mutex_;
  Hooks hooks_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> prepares_{0};
  std::atomic<uint64_t> flushes_{0};
};

}  // namespace remora::test
