// How sessions end and in which order they speak, against a worker that does what the test wants.
#include "client/remote/session.h"

#include <unistd.h>

#include <mutex>

#include "absl/synchronization/notification.h"
#include "client/remote/callback_scope.h"
#include "client/remote/storage.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

enum class Behaviour {
  kRefusesSessions,  // with UNIMPLEMENTED
  kNeverAnswers,     // welcomes, then only listens
  kFailsReads,       // the answer and the failed op that it depends on come in one frame
};

/// One session of the scripted worker. Lives until gRPC is done with it.
class ScriptedStream final : public grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame> {
 public:
  explicit ScriptedStream(Behaviour behaviour) : behaviour_(behaviour) {
    if (behaviour_ == Behaviour::kRefusesSessions) {
      Finish({grpc::StatusCode::UNIMPLEMENTED, "no sessions here"});
    } else {
      StartRead(&incoming_);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    outgoing_.Clear();
    outgoing_.set_sequence(sequence_ + 1);
    if (incoming_.has_hello()) {
      outgoing_.mutable_welcome()->set_session(std::string(32, 's'));
      outgoing_.mutable_welcome()->set_version(wire::kMaxVersion);
    } else if (behaviour_ == Behaviour::kFailsReads && !incoming_.records().empty()) {
      v1::ReadReply& reply = *outgoing_.add_reads();
      reply.set_number(1);
      reply.mutable_status()->set_code(static_cast<uint32_t>(absl::StatusCode::kOutOfRange));
      v1::OpError& error = *outgoing_.add_errors();
      *error.mutable_status() = reply.status();
      error.set_op("gather");
    } else {
      StartRead(&incoming_);
      return;
    }
    ++sequence_;
    StartWrite(&outgoing_);
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&incoming_);
    } else {
      Finish(grpc::Status::OK);
    }
  }

  void OnDone() override { const std::unique_ptr<ScriptedStream> last(this); }

 private:
  const Behaviour behaviour_;
  uint64_t sequence_ = 0;
  v1::ClientFrame incoming_;
  v1::WorkerFrame outgoing_;
};

/// Describes itself as one CPU; uploads are UNIMPLEMENTED.
class ScriptedWorker final : public v1::Worker::CallbackService {
 public:
  explicit ScriptedWorker(Behaviour behaviour) : behaviour_(behaviour) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedWorker() override {
    disconnect(address_);
    server_->Shutdown();
  }

  WorkerConnection& connection() const { return WorkerConnection::at(address_); }

 private:
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest*,
                                     v1::DescribeReply* reply) override {
    reply->mutable_versions()->set_min(wire::kMinVersion);
    reply->mutable_versions()->set_max(wire::kMaxVersion);
    reply->add_devices()->set_text("cpu:0");
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame>* Session(
      grpc::CallbackServerContext*) override {
    return std::make_unique<ScriptedStream>(behaviour_).release();
  }

  const Behaviour behaviour_;
  const std::string address_ =
      "unix:" + testing::TempDir() + "remora-scripted-" + std::to_string(getpid());
  std::unique_ptr<grpc::Server> server_;
};

/// A value of four floats, as the program holds it, and the answer to a read of it.
class OpenRead {
 public:
  explicit OpenRead(std::shared_ptr<Session> session)
      : session_(std::move(session)), storage_(session_, kId, 0, kSpec.byte_size()) {}

  void upload() {
    const std::vector<float> values = ramp(4);
    const auto data = dispatch::HostData::copy_of(kSpec, std::as_bytes(std::span(values)));
    EXPECT_TRUE(session_->upload(kId, 0, data).ok());
  }
  void ask(const std::function<void()>& then = [] {}) {
    const auto answer = [this, then](const absl::StatusOr<dispatch::HostData>& read) {
      status_ = read.status();
      in_callback_ = CallbackScope::inside();
      then();
      answered_.Notify();
    };
    session_->read({{&storage_, kSpec, answer}});
  }
  absl::Status wait() {
    const bool answered = answered_.WaitForNotificationWithTimeout(absl::Seconds(20));
    return answered ? status_ : absl::DeadlineExceededError("the read was never answered");
  }
  bool was_in_callback() const { return in_callback_; }

 private:
  static inline const dispatch::ValueId kId{1, 0};
  static inline const Spec kSpec{DType::kF32, {4}};

  const std::shared_ptr<Session> session_;
  RemoteStorage storage_;
  absl::Status status_;
  bool in_callback_ = false;
  absl::Notification answered_;
};

TEST(RemoteSession, an_upload_that_no_worker_has_claimed_ends_the_session_and_answers_reads) {
  const ScriptedWorker worker(Behaviour::kNeverAnswers);
  const std::shared_ptr<Session> session = value_or_throw(worker.connection().session());
  OpenRead read(session);
  read.upload();
  read.ask();
  const absl::Status status = read.wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_NE(status.message().find("an upload was lost"), std::string::npos) << status;
  EXPECT_EQ(session->status(), status);
}

TEST(RemoteSession, reads_that_a_failure_answers_run_as_callbacks) {
  const ScriptedWorker worker(Behaviour::kNeverAnswers);
  const std::shared_ptr<Session> session = value_or_throw(worker.connection().session());
  OpenRead read(session);
  read.ask();
  session->fail(absl::UnavailableError("by the test"));
  EXPECT_EQ(read.wait(), absl::UnavailableError("by the test"));
  EXPECT_TRUE(read.was_in_callback());
  EXPECT_FALSE(CallbackScope::inside());
}

TEST(RemoteSession, a_failed_op_is_reported_before_the_reads_it_fails_are_answered) {
  const ScriptedWorker worker(Behaviour::kFailsReads);
  std::mutex mutex;  // guards order
  std::vector<std::string> order;
  const auto note = [&](const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex);
    order.push_back(what);
  };
  set_error_callback([&](const RemoteOpError& error) { note(error.op); });
  OpenRead read(value_or_throw(worker.connection().session()));
  read.ask([&] { note("read"); });
  EXPECT_EQ(read.wait().code(), absl::StatusCode::kOutOfRange);
  set_error_callback({});
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(order, (std::vector<std::string>{"gather", "read"}));
}

TEST(RemoteSession, sessions_that_could_not_be_opened_do_not_accumulate) {
  const ScriptedWorker worker(Behaviour::kRefusesSessions);
  for (int i = 0; i < 5; ++i) {
    const absl::Status status = worker.connection().session().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_LE(worker.connection().ended_sessions(), 1u);
  }
}

TEST(RemoteSession, a_callback_uses_a_session_but_never_opens_one) {
  const ScriptedWorker worker(Behaviour::kNeverAnswers);
  {
    const CallbackScope scope;
    EXPECT_EQ(worker.connection().session().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(worker.connection().current(), nullptr);
  }
  EXPECT_TRUE(worker.connection().session().ok());
  const CallbackScope scope;
  EXPECT_TRUE(worker.connection().session().ok());
}

}  // namespace
}  // namespace remora::remote
