#include "tests/server/raw_session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "gtest/gtest.h"
#include "proto/chunk.h"

namespace remora::test {
namespace {

constexpr auto kCallDeadline = std::chrono::seconds(60);
constexpr auto kDescribeDeadline = std::chrono::seconds(30);

}  // namespace

RawClient::RawClient(const std::string& address, std::string token) : token_(std::move(token)) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(8 << 20);
  channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::Worker::NewStub(channel_);
}

void RawClient::prepare(grpc::ClientContext& context) const {
  if (!token_.empty()) context.AddMetadata("authorization", "Bearer " + token_);
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
}

grpc::Status RawClient::describe(v1::DescribeReply& reply) {
  grpc::ClientContext context;
  prepare(context);
  return stub_->Describe(&context, v1::DescribeRequest(), &reply);
}

bool RawClient::describe_until(const std::function<bool(const v1::DescribeReply&)>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kDescribeDeadline;
  while (std::chrono::steady_clock::now() < deadline) {
    v1::DescribeReply reply;
    if (!describe(reply).ok()) return false;
    if (done(reply)) return true;
  }
  return false;
}

TestGraph one_op(dispatch::OpCode code, const std::vector<Spec>& inputs,
                 const dispatch::Attrs& attrs, std::vector<Spec> outputs) {
  const dispatch::OpInfo& info = dispatch::op_info(code);
  const dispatch::Attrs& used =
      std::holds_alternative<dispatch::NoAttrs>(attrs) ? info.default_attrs : attrs;
  dispatch::GraphBuilder builder;
  std::vector<dispatch::Position> positions;
  positions.reserve(inputs.size());
  for (const Spec& spec : inputs)
    positions.push_back(dispatch::Position::external(builder.add_input(spec)));
  if (outputs.empty()) {
    auto specs = dispatch::infer(info, inputs, used);
    if (!specs.ok()) throw std::runtime_error(specs.status().ToString());
    outputs.assign(specs->begin(), specs->end());
  }
  builder.add_op(info, positions, used, outputs);
  TestGraph graph;
  graph.graph = builder.finish(graph.params);
  return graph;
}

Spec f32(std::initializer_list<int64_t> sizes) { return {DType::kF32, Shape(sizes)}; }

dispatch::HostData floats(const std::vector<float>& values) {
  return dispatch::HostData::copy_of(f32({static_cast<int64_t>(values.size())}),
                                     std::as_bytes(std::span(values)));
}

dispatch::HostData integers(const std::vector<int64_t>& values) {
  return dispatch::HostData::copy_of({DType::kI64, Shape({static_cast<int64_t>(values.size())})},
                                     std::as_bytes(std::span(values)));
}

RawSession::RawSession(RawClient& client, bool hello) : client_(client) {
  client.prepare(context_);
  stream_ = client.stub().Session(&context_);
  if (!hello) return;
  v1::ClientFrame frame;
  frame.set_sequence(++sequence_);
  frame.mutable_hello()->mutable_versions()->set_min(wire::kMinVersion);
  frame.mutable_hello()->mutable_versions()->set_max(wire::kMaxVersion);
  frame.mutable_hello()->set_client("raw_session");
  v1::WorkerFrame answer;
  if (send_frame(frame) && receive(answer)) welcome_ = answer.welcome();
}

RawSession::~RawSession() {
  if (finished_) return;
  cancel();
  (void)status();
}

bool RawSession::send() {
  v1::ClientFrame frame;
  frame.set_sequence(++sequence_);
  frame.set_ack(received_);
  frame.set_records(records_.take());
  return send_frame(frame);
}

bool RawSession::receive(v1::WorkerFrame& frame) {
  if (!stream_->Read(&frame)) return false;
  if (frame.sequence() != 0) {
    EXPECT_EQ(frame.sequence(), received_ + 1);
    received_ = frame.sequence();
  }
  last_ack_ = std::max(last_ack_, frame.ack());
  errors_.insert(errors_.end(), frame.errors().begin(), frame.errors().end());
  answers_.insert(answers_.end(), frame.reads().begin(), frame.reads().end());
  return true;
}

v1::ReadReply RawSession::wait_for(uint64_t number) {
  for (;;) {
    const auto found =
        std::find_if(answers_.begin(), answers_.end(),
                     [&](const v1::ReadReply& reply) { return reply.number() == number; });
    if (found != answers_.end()) {
      v1::ReadReply reply = *found;
      answers_.erase(found);
      return reply;
    }
    v1::WorkerFrame frame;
    if (!receive(frame)) {
      const grpc::Status end = status();
      throw std::runtime_error("the session ended instead of an answer: " + end.error_message());
    }
  }
}

v1::ReadReply RawSession::read(dispatch::ValueId value) {
  records_.read(++read_number_, value);
  send();
  return wait_for(read_number_);
}

v1::ReadReply RawSession::sync(uint32_t device) {
  records_.sync(++read_number_, device);
  send();
  return wait_for(read_number_);
}

std::vector<float> RawSession::read_floats(dispatch::ValueId value) {
  const v1::ReadReply reply = read(value);
  EXPECT_EQ(reply.status().code(), 0u) << reply.status().message();
  std::vector<float> floats(reply.data().size() / sizeof(float));
  std::memcpy(floats.data(), reply.data().data(), floats.size() * sizeof(float));
  return floats;
}

grpc::Status RawSession::close() {
  stream_->WritesDone();
  return status();
}

grpc::Status RawSession::status() {
  v1::WorkerFrame frame;
  while (receive(frame)) continue;
  finished_ = true;
  return stream_->Finish();
}

std::vector<v1::Chunk> RawSession::chunks_of(dispatch::ValueId value, const std::string& bytes,
                                             size_t chunk_bytes) const {
  std::vector<v1::Chunk> chunks;
  for (size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    v1::Chunk& chunk = chunks.emplace_back();
    chunk.set_offset(at);
    chunk.set_data(bytes.substr(at, chunk_bytes));
    chunk.set_checksum(wire::chunk_checksum(std::as_bytes(std::span(chunk.data()))));
  }
  if (chunks.empty()) chunks.emplace_back();
  chunks[0].mutable_target()->set_session(welcome_.session());
  chunks[0].mutable_target()->set_value(value.bits());
  chunks[0].mutable_target()->set_byte_size(bytes.size());
  return chunks;
}

grpc::Status RawSession::upload(RawClient& client, const std::vector<v1::Chunk>& chunks,
                                v1::UploadReply& reply) const {
  grpc::ClientContext context;
  client.prepare(context);
  const auto writer = client.stub().Upload(&context, &reply);
  for (const v1::Chunk& chunk : chunks) {
    if (!writer->Write(chunk)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status RawSession::download(RawClient& client, uint64_t read, std::string& bytes) const {
  grpc::ClientContext context;
  client.prepare(context);
  v1::DownloadRequest request;
  request.set_session(welcome_.session());
  request.set_read(read);
  const auto reader = client.stub().Download(&context, request);
  v1::Chunk chunk;
  while (reader->Read(&chunk)) {
    EXPECT_EQ(chunk.offset(), bytes.size());
    EXPECT_EQ(chunk.checksum(), wire::chunk_checksum(std::as_bytes(std::span(chunk.data()))));
    bytes += chunk.data();
  }
  return reader->Finish();
}

}  // namespace remora::test
