#include "server/service_session.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/service_call.h"
#include "server/session.h"

namespace remora::server {
namespace {

/// Carries the frames of one session. Holds itself until gRPC is done with it; the session knows it
/// weakly.
class SessionReactor final : public grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame>,
                             public SessionStream,
                             public std::enable_shared_from_this<SessionReactor> {
 public:
  explicit SessionReactor(grpc::CallbackServerContext& context) : context_(context) {}

  static SessionReactor* start(Worker& worker, grpc::CallbackServerContext& context) {
    auto reactor = std::make_shared<SessionReactor>(context);
    reactor->self_ = reactor;
    const absl::StatusOr<std::string> identity = authenticate(worker, context, "Session");
    absl::Status status = identity.status();
    if (status.ok()) {
      absl::StatusOr<std::shared_ptr<Session>> session =
          worker.sessions().open(reactor, context.peer(), *identity);
      status = session.status();
      if (status.ok()) {
        reactor->session_ = *std::move(session);
      } else {
        log_refusal(context, "Session", *identity, status);
      }
    }
    if (status.ok()) {
      reactor->read_next_frame();
    } else {
      reactor->close(status);
    }
    return reactor.get();
  }

  void replies_wait() override {
    const absl::MutexLock lock(&mutex_);
    // gRPC allows one write at a time.
    if (closed_ || writing_ || !session_->next_reply(outgoing_)) return;
    writing_ = true;
    StartWrite(&outgoing_);
  }

  void read_next_frame() override {
    const absl::MutexLock lock(&mutex_);
    if (closed_) return;
    incoming_ = std::make_unique<v1::ClientFrame>();
    StartRead(incoming_.get());
  }

  void close(const absl::Status& status) override {
    bool is_stuck = false;
    {
      const absl::MutexLock lock(&mutex_);
      if (std::exchange(closed_, true)) return;
      is_stuck = writing_ && absl::IsDeadlineExceeded(status);
    }
    // A status would wait behind the reply that the client does not take. gRPC keeps the context
    // until `Finish`.
    if (is_stuck) context_.TryCancel();
    Finish(to_grpc(status));
  }

  void OnReadDone(bool ok) override {
    if (session_ == nullptr) return;
    if (ok) {
      session_->frame_arrived(std::move(incoming_));
    } else {
      session_->end(absl::OkStatus());
    }
  }

  void OnWriteDone(bool ok) override {
    {
      const absl::MutexLock lock(&mutex_);
      writing_ = false;
    }
    if (!ok) {
      session_->end(absl::CancelledError("the client does not take replies any more"));
      return;
    }
    session_->reply_written();
    replies_wait();
    session_->made_progress();  // there is room for more of them
  }

  void OnCancel() override {
    if (session_ != nullptr) session_->end(absl::CancelledError("the client is gone"));
  }

  void OnDone() override { const std::shared_ptr<SessionReactor> last = std::move(self_); }

 private:
  grpc::CallbackServerContext& context_;
  std::shared_ptr<SessionReactor> self_;
  std::shared_ptr<Session> session_;           // null for a call that was refused
  std::unique_ptr<v1::ClientFrame> incoming_;  // owned by the read in progress
  v1::WorkerFrame outgoing_;                   // owned by the write in progress
  absl::Mutex mutex_;                          // guards all below, and that no call follows Finish
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame>* serve_session(
    Worker& worker, grpc::CallbackServerContext& context) {
  return SessionReactor::start(worker, context);
}

}  // namespace remora::server
