#include "server/service.h"

#include <memory>

#include "server/service_bulk.h"
#include "server/service_call.h"
#include "server/service_session.h"

namespace remora::server {
namespace {

class PullRefusal final : public grpc::ServerWriteReactor<v1::Chunk> {
 public:
  static PullRefusal* start() {
    auto reactor = std::make_unique<PullRefusal>();
    reactor->Finish({grpc::StatusCode::UNIMPLEMENTED, "Pull is not in this version"});
    return reactor.release();
  }
  void OnDone() override { const std::unique_ptr<PullRefusal> last(this); }
};

}  // namespace

grpc::ServerUnaryReactor* Service::Describe(grpc::CallbackServerContext* context,
                                            const v1::DescribeRequest* /*request*/,
                                            v1::DescribeReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  absl::Status status;
  if (const auto identity = authenticate(worker_, *context, "Describe"); identity.ok()) {
    absl::StatusOr<v1::DescribeReply> description = worker_.describe(*identity);
    status = description.status();
    if (status.ok()) {
      *reply = *std::move(description);
    } else {
      log_refusal(*context, "Describe", *identity, status);
    }
  } else {
    status = identity.status();
  }
  reactor->Finish(to_grpc(status));
  return reactor;
}

grpc::ServerBidiReactor<v1::ClientFrame, v1::WorkerFrame>* Service::Session(
    grpc::CallbackServerContext* context) {
  return serve_session(worker_, *context);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* Service::Upload(grpc::CallbackServerContext* context,
                                                           grpc::ByteBuffer* response) {
  return serve_upload(worker_, *context, *response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* Service::Download(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request) {
  return serve_download(worker_, *context, *request);
}

grpc::ServerWriteReactor<v1::Chunk>* Service::Pull(grpc::CallbackServerContext* /*context*/,
                                                   const v1::PullRequest* /*request*/) {
  return PullRefusal::start();
}

}  // namespace remora::server
