// One call of the bulk plane: an upload or a download. Owned by its session's list from start to
// OnDone. Runs in gRPC's callbacks only, one at a time.
#pragma once

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
  void prepare(const char* method);
  /// Once the call is done.
  bool has_trailing_metadata(const char* key) const {
    return context_.GetServerTrailingMetadata().contains(key);
  }
  Session& session() { return *session_; }
  /// Takes this object out of the session's list; it dies with the result.
  std::unique_ptr<BulkCall> leave() { return session_->forget(this); }

 private:
  const std::shared_ptr<Session> session_;
  grpc::ClientContext context_;
};

/// Sends `data` as value `id`, in chunks that share its memory.
std::unique_ptr<BulkCall> make_upload(std::shared_ptr<Session> session, dispatch::ValueId id,
                                      dispatch::HostData data);

/// Fetches the result of read `number`; `done` is called once, with `spec.byte_size()` bytes or the
/// error.
std::unique_ptr<BulkCall> make_download(std::shared_ptr<Session> session, uint64_t number,
                                        Spec spec, dispatch::ReadCallback done);

}  // namespace remora::remote
