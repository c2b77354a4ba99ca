// One call of the bulk plane: an upload or a download. Owned by its session's list from start to
// OnDone. Runs in gRPC's callbacks only, one at a time.
#pragma once

#include <atomic>
#include <memory>

#include "client/remote/session.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"

namespace remora::remote {

class BulkCall : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit BulkCall(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  /// Begins the call. Requires that the session's list owns it. `this` may be gone when it returns.
  virtual void start() = 0;
  /// Any thread, while the session's list owns it.
  void cancel() { context_.TryCancel(); }
  virtual bool is_upload() const = 0;

 protected:
  /// A callback touches the call's state in a turn, and starts what brings the next callback, which
  /// may come on another thread at once, after it. Makes that order visible where gRPC is not
  /// looked into: to ThreadSanitizer.
  class Turn {
   public:
    explicit Turn(BulkCall& call) : call_(&call) {
      turns_before_ = call_->turns_.load(std::memory_order_acquire);
    }
    ~Turn() {
      if (call_ != nullptr) call_->turns_.store(turns_before_ + 1, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    /// For the last one, which the call does not outlive.
    void is_last() { call_ = nullptr; }

   private:
    BulkCall* call_;
    uint64_t turns_before_;
  };

  void prepare(const char* method);
  Session& session() { return *session_; }
  /// Takes this object out of the session's list; it dies with the result.
  std::unique_ptr<BulkCall> leave() { return session_->forget(this); }

 private:
  const std::shared_ptr<Session> session_;
  grpc::ClientContext context_;
  std::atomic<uint64_t> turns_{0};
};

/// Sends `data` as value `id`, in chunks that share its memory.
std::unique_ptr<BulkCall> make_upload(std::shared_ptr<Session> session, dispatch::ValueId id,
                                      dispatch::HostData data);

/// Fetches the result of read `number`; `done` is called once, with `spec.byte_size()` bytes or the
/// error.
std::unique_ptr<BulkCall> make_download(std::shared_ptr<Session> session, uint64_t number,
                                        Spec spec, dispatch::ReadCallback done);

}  // namespace remora::remote
