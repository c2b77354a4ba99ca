// An upload call that gRPC refuses before the worker has seen it: nothing would ever settle the
// tensor, so its session ends instead of leaving its reads waiting.
#include <memory>

#include "client/tensor.h"
#include "dispatch/op.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "remora/v1/worker.grpc.pb.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

/// A worker that welcomes its clients, answers nothing and refuses every upload.
class RefusingWorker final : public v1::Worker::Service {
 public:
  RefusingWorker() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~RefusingWorker() override { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*,
                        v1::DescribeReply* reply) override {
    reply->mutable_versions()->set_min(wire::kMinVersion);
    reply->mutable_versions()->set_max(wire::kMaxVersion);
    reply->set_instance("refusing worker");
    v1::DeviceDescription& device = *reply->add_devices();
    device.set_text("cpu:0");
    device.set_memory_limit_bytes(1 << 30);
    for (const dispatch::OpInfo& op : dispatch::catalogue()) {
      v1::OpSupport& support = *device.add_support();
      support.set_opcode(static_cast<uint32_t>(op.code));
      support.set_dtypes(~uint32_t{0});
    }
    return grpc::Status::OK;
  }
  grpc::Status Session(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::WorkerFrame, v1::ClientFrame>* stream) override {
    v1::ClientFrame frame;
    if (!stream->Read(&frame)) return grpc::Status::OK;
    v1::WorkerFrame welcome;
    welcome.set_sequence(1);
    welcome.set_ack(1);
    welcome.mutable_welcome()->set_version(wire::kMaxVersion);
    welcome.mutable_welcome()->set_session(std::string(wire::kSessionNameBytes, 's'));
    stream->Write(welcome);
    while (stream->Read(&frame)) continue;
    return grpc::Status::OK;
  }
  grpc::Status Upload(grpc::ServerContext*, grpc::ServerReader<v1::Chunk>*,
                      v1::UploadReply*) override {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too large a message"};
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(RemoteLostUpload, a_refusal_that_is_not_the_workers_leaves_no_read_waiting) {
  const RefusingWorker worker;
  disconnect(worker.address());
  const absl::Status status = error_of([&] {
    const Tensor x = from_data(ramp(1 << 17), {1 << 17}, Device::remote(worker.address()));
    (void)x.to_vector<float>();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find("an upload was lost"), std::string::npos) << status;
  disconnect(worker.address());
}

TEST(RemoteLostUpload, the_workers_own_refusal_leaves_the_session_alive) {
  TokenWorker worker({"--session-quota", "4MiB"});
  const auto send = [&](int64_t count) {
    return error_of([&] {
      const Tensor x = from_data(ramp(static_cast<size_t>(count)), {count}, worker.device());
      EXPECT_EQ(x.to_vector<float>().size(), static_cast<size_t>(count));
    });
  };
  EXPECT_TRUE(send(1).ok());
  const std::shared_ptr<Session> session = WorkerConnection::at(worker.address()).current();
  EXPECT_EQ(send(2 << 20).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(send(1 << 18).ok());
  EXPECT_EQ(WorkerConnection::at(worker.address()).current(), session);
}

}  // namespace
}  // namespace remora::remote
