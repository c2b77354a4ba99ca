// A client of the wire for tests of the worker: it sends what it is told, right or wrong, with the
// plain gRPC API. Owned by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/graph.h"
#include "grpcpp/grpcpp.h"
#include "proto/records.h"
#include "remora/v1/worker.grpc.pb.h"
#include "tests/support/worker_process.h"

namespace remora::test {

/// A connection to a worker of its own.
class RawClient {
 public:
  explicit RawClient(const WorkerProcess& worker) : RawClient(worker.address(), worker.token()) {}
  RawClient(const std::string& address, std::string token);

  v1::Worker::Stub& stub() { return *stub_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  /// Adds the token and a deadline that keeps a broken worker from hanging the test.
  void prepare(grpc::ClientContext& context) const;
  grpc::Status describe(v1::DescribeReply& reply);
  /// Describes until `done`; false if that does not come within 30 s.
  bool describe_until(const std::function<bool(const v1::DescribeReply&)>& done);

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  std::string token_;
};

/// A graph and the params of its first run.
struct TestGraph {
  dispatch::GraphPtr graph;
  std::vector<uint64_t> params;
};
/// One op over as many external inputs as `inputs`. `outputs` instead of what the shape rule says,
/// if given.
TestGraph one_op(dispatch::OpCode code, const std::vector<Spec>& inputs,
                 const dispatch::Attrs& attrs = {}, std::vector<Spec> outputs = {});

Spec f32(std::initializer_list<int64_t> sizes);
dispatch::HostData floats(const std::vector<float>& values);
dispatch::HostData integers(const std::vector<int64_t>& values);

class RawSession {
 public:
  /// Opens the stream and says hello, unless told not to.
  explicit RawSession(RawClient& client, bool hello = true);
  /// Cancels what is still open.
  ~RawSession();
  RawSession(const RawSession&) = delete;

  const v1::Welcome& welcome() const { return welcome_; }
  wire::RecordWriter& records() { return records_; }
  /// Sends the records so far in the next frame. False if the stream is broken.
  bool send();
  /// Sends a frame as it is.
  bool send_frame(const v1::ClientFrame& frame) { return stream_->Write(frame); }
  /// The next frame of the worker; false at the stream's end. Errors are kept in `errors`.
  bool receive(v1::WorkerFrame& frame);
  /// Asks for a value, or waits for a sync of a device, and gives the answer.
  v1::ReadReply read(dispatch::ValueId value);
  v1::ReadReply sync(uint32_t device = 0);
  v1::ReadReply wait_for(uint64_t number);
  /// The read's bytes as floats; fails the test if there are none.
  std::vector<float> read_floats(dispatch::ValueId value);

  /// Half-closes, takes what comes, and gives the stream's status.
  grpc::Status close();
  /// The stream's status; what comes before is dropped.
  grpc::Status status();
  void cancel() { context_.TryCancel(); }

  /// A number that no window of this session has yet.
  uint64_t next_window() { return ++window_; }
  const std::vector<v1::OpError>& errors() const { return errors_; }
  uint64_t sequence() const { return sequence_; }
  uint64_t last_ack() const { return last_ack_; }

  // Bulk plane.
  grpc::Status upload(RawClient& client, const std::vector<v1::Chunk>& chunks,
                      v1::UploadReply& reply) const;
  /// Good chunks of these bytes.
  std::vector<v1::Chunk> chunks_of(dispatch::ValueId value, const std::string& bytes,
                                   size_t chunk_bytes) const;
  grpc::Status download(RawClient& client, uint64_t read, std::string& bytes) const;

 private:
  RawClient& client_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientFrame, v1::WorkerFrame>> stream_;
  wire::RecordWriter records_;
  v1::Welcome welcome_;
  std::vector<v1::OpError> errors_;
  std::vector<v1::ReadReply> answers_;
  uint64_t sequence_ = 0;
  uint64_t received_ = 0;
  uint64_t last_ack_ = 0;
  uint64_t read_number_ = 0;
  uint64_t window_ = 0;
  bool finished_ = false;
};

}  // namespace remora::test
