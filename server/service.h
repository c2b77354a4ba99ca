// The gRPC service Worker: translates and delegates, no logic.
#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "remora/v1/worker.grpc.pb.h"
#include "server/worker.h"

namespace remora::server {

// Upload and Download are raw: their bytes never pass through protobuf.
using CallbackService =
    v1::Worker::WithRawCallbackMethod_Upload<v1::Worker::WithRawCallbackMethod_Download<
        v1::Worker::WithCallbackMethod_Describe<v1::Worker::WithCallbackMethod_Session<
            v1::Worker::WithCallbackMethod_Pull<v1::Worker::Service>>>>>;

class Service final : public CallbackService {
 public:
  /// `worker` outlives the service.
  explicit Service(Worker& worker) : worker_(worker) {}

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeReply* reply) override;
  grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* Upload(grpc::CallbackServerContext* context,
                                                    grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Download(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<v1::Chunk>* Pull(grpc::CallbackServerContext* context,
                                            const v1::PullRequest* request) override;

 private:
  Worker& worker_;
};

}  // namespace remora::server
