// The gRPC calls of the bulk plane. Their messages are Chunks as raw slices (proto/chunk.h), so
// that tensor bytes are copied once: from the slice into the tensor, or not at all on the way out.
#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/worker.h"

namespace remora::server {

/// The reactor of one Upload call; gRPC owns it until its last reaction.
grpc::ServerReadReactor<grpc::ByteBuffer>* serve_upload(Worker& worker,
                                                        grpc::CallbackServerContext& context,
                                                        grpc::ByteBuffer& response);

/// The reactor of one Download call; likewise.
grpc::ServerWriteReactor<grpc::ByteBuffer>* serve_download(Worker& worker,
                                                           grpc::CallbackServerContext& context,
                                                           const grpc::ByteBuffer& request);

}  // namespace remora::server
