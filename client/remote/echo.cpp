#include "client/remote/echo.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/remote/channel.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace remora::remote {
namespace {

/// One stream of the server; gRPC ends its life by OnDone.
class EchoStream final : public grpc::ServerGenericBidiReactor {
 public:
  EchoStream() { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (ok) {
      StartWrite(&message_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&message_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { const std::unique_ptr<EchoStream> self(this); }

 private:
  grpc::ByteBuffer message_;
};

class EchoService final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return std::make_unique<EchoStream>().release();
  }
};

class GrpcEchoServer final : public EchoServer {
 public:
  GrpcEchoServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~GrpcEchoServer() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  bool serves() const { return server_ != nullptr && port_ != 0; }
  std::string address() const override { return str_cat("127.0.0.1:", port_); }

 private:
  EchoService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class GrpcEchoClient final : public EchoClient,
                             private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit GrpcEchoClient(const std::string& address)
      : channel_(make_channel(address, Plane::kControl, std::nullopt)), stub_(channel_) {
    stub_.PrepareBidiStreamingCall(&context_, "/remora.Echo/Echo", {}, this);
    StartRead(&incoming_);
    AddHold();
    StartCall();
  }
  ~GrpcEchoClient() override {
    context_.TryCancel();
    RemoveHold();
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  absl::Status round_trip(size_t bytes) override {
    const grpc::Slice slice(std::string(bytes, 'e'));
    outgoing_ = grpc::ByteBuffer(&slice, 1);
    const absl::MutexLock lock(&mutex_);
    const uint64_t wanted = answers_ + 1;
    StartWrite(&outgoing_);
    const auto answered = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return broken_ || (answers_ == wanted && written_ == wanted);
    };
    mutex_.Await(absl::Condition(&answered));
    return broken_ ? absl::UnavailableError("the echo stream broke") : absl::OkStatus();
  }

 private:
  void OnReadDone(bool ok) override {
    {
      const absl::MutexLock lock(&mutex_);
      broken_ = broken_ || !ok;
      if (ok) ++answers_;
    }
    if (ok) StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&mutex_);
    broken_ = broken_ || !ok;
    ++written_;
  }
  void OnDone(const grpc::Status&) override {
    const absl::MutexLock lock(&mutex_);
    done_ = true;
  }

  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer outgoing_;
  grpc::ByteBuffer incoming_;
  absl::Mutex mutex_;  // guards all below
  uint64_t answers_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EchoServer>> EchoServer::start() {
  auto server = std::make_unique<GrpcEchoServer>();
  if (!server->serves()) return absl::UnavailableError("echo: no loopback port can be listened on");
  return server;
}

absl::StatusOr<std::unique_ptr<EchoClient>> EchoClient::open(const std::string& address) {
  auto client = std::make_unique<GrpcEchoClient>(address);
  REMORA_RETURN_IF_ERROR(client->round_trip(1));
  return client;
}

}  // namespace remora::remote
