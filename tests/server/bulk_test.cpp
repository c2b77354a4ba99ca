// The bulk plane: uploads and downloads as chunks.
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/chunk.h"
#include "server/auth.h"
#include "server/endpoint.h"
#include "server/listen_address.h"
#include "server/options.h"
#include "server/worker.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::LiveSet;
using dispatch::OpCode;
using dispatch::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kDataLoss = static_cast<uint32_t>(absl::StatusCode::kDataLoss);

/// Bytes of booleans.
std::string random_text(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random() & 1);
  return text;
}

Spec bools(size_t count) { return {DType::kBool, Shape({static_cast<int64_t>(count)})}; }

class Bulk : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    worker_ = std::make_unique<WorkerProcess>(WorkerOptions{{"--threads", "1"}});
    client_ = std::make_unique<RawClient>(*worker_);
    bulk_ = std::make_unique<RawClient>(*worker_);
  }
  static void TearDownTestSuite() {
    bulk_.reset();
    client_.reset();
    worker_.reset();
  }

  ValueId announce(const Spec& spec) {
    const ValueId id(session_.next_window(), 0);
    session_.records().upload(id, 0, spec);
    EXPECT_TRUE(session_.send());
    return id;
  }
  /// Expects the call to end and the tensor to be poisoned with DATA_LOSS.
  void expect_data_loss(ValueId id, const std::vector<v1::Chunk>& chunks, const std::string& part) {
    v1::UploadReply reply;
    const grpc::Status status = session_.upload(*bulk_, chunks, reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(part));
    EXPECT_EQ(session_.read(id).status().code(), kDataLoss);
    expect_alive();
  }
  void expect_alive() {
    const ValueId value(session_.next_window(), 0);
    session_.records().host_data(value, 0, floats({6, 7}));
    EXPECT_THAT(session_.read_floats(value), ElementsAre(6, 7));
  }

  static inline std::unique_ptr<WorkerProcess> worker_;
  static inline std::unique_ptr<RawClient> client_;
  static inline std::unique_ptr<RawClient> bulk_;
  RawSession session_{*client_};
};

TEST_F(Bulk, every_size_around_a_chunks_border_comes_back_as_it_went) {
  constexpr size_t kChunk = wire::kChunkBytes;
  uint32_t seed = 7;
  for (size_t size : {size_t{1}, wire::kMaxInlineBytes, wire::kMaxInlineBytes + 1, kChunk - 1,
                      kChunk, kChunk + 1, 3 * kChunk - 1, 3 * kChunk, 3 * kChunk + 1}) {
    SCOPED_TRACE(size);
    const std::string bytes = random_text(size, ++seed);
    const ValueId id = announce(bools(size));
    v1::UploadReply reply;
    const grpc::Status status =
        session_.upload(*bulk_, session_.chunks_of(id, bytes, kChunk), reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.received_bytes(), size);
    const v1::ReadReply read = session_.read(id);
    ASSERT_EQ(read.status().code(), 0u) << read.status().message();
    EXPECT_EQ(read.streamed(), size > wire::kMaxInlineBytes);
    std::string back = read.data();
    if (read.streamed()) {
      ASSERT_TRUE(session_.download(*bulk_, read.number(), back).ok());
    }
    EXPECT_TRUE(back == bytes);
  }
}

TEST_F(Bulk, a_read_is_fetched_once) {
  const std::string bytes = random_text(wire::kMaxInlineBytes + 4, 3);
  const ValueId id = announce(bools(bytes.size()));
  v1::UploadReply reply;
  ASSERT_TRUE(session_.upload(*bulk_, session_.chunks_of(id, bytes, 1000), reply).ok());
  const v1::ReadReply read = session_.read(id);
  std::string back;
  ASSERT_TRUE(session_.download(*bulk_, read.number(), back).ok());
  EXPECT_TRUE(back == bytes);
  const grpc::Status again = session_.download(*bulk_, read.number(), back);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Bulk, what_needs_an_upload_waits_for_it_and_other_sessions_do_not) {
  const ValueId id = announce(f32({2}));
  const TestGraph add = one_op(OpCode::add, {f32({2}), f32({2})});
  const uint64_t window = session_.next_window();
  session_.records().once(0, LiveSet{true}, *add.graph, {window, {id, id}, {}, {false, false}});
  session_.records().read(500, ValueId(window, 0));
  ASSERT_TRUE(session_.send());

  RawSession other(*client_);
  const ValueId value(1, 0);
  other.records().host_data(value, 0, floats({3, 4}));
  EXPECT_THAT(other.read_floats(value), ElementsAre(3, 4));

  const std::vector<float> values = {1.5, 2.5};
  std::string bytes(sizeof(float) * 2, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  v1::UploadReply reply;
  ASSERT_TRUE(session_.upload(*bulk_, session_.chunks_of(id, bytes, 3), reply).ok());
  const v1::ReadReply read = session_.wait_for(500);
  ASSERT_EQ(read.data().size(), bytes.size());
  float sum[2];
  std::memcpy(sum, read.data().data(), sizeof(sum));
  EXPECT_THAT(sum, ElementsAre(3, 5));
}

TEST_F(Bulk, bytes_may_come_before_their_announcement) {
  const ValueId id(session_.next_window(), 0);
  const std::string bytes = random_text(8, 5);
  v1::UploadReply reply;
  grpc::Status status;
  std::thread sender(
      [&] { status = session_.upload(*bulk_, session_.chunks_of(id, bytes, 8), reply); });
  session_.records().upload(id, 0, f32({2}));
  EXPECT_EQ(session_.read(id).data(), bytes);
  sender.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(Bulk, a_wrong_checksum_poisons_the_tensor) {
  const ValueId id = announce(bools(100));
  auto chunks = session_.chunks_of(id, std::string(100, '\1'), 40);
  chunks[1].set_checksum(chunks[1].checksum() + 1);
  expect_data_loss(id, chunks, "checksum");
}

TEST_F(Bulk, too_few_bytes_poison_the_tensor) {
  const ValueId id = announce(bools(100));
  auto chunks = session_.chunks_of(id, std::string(100, '\1'), 40);
  chunks.pop_back();
  expect_data_loss(id, chunks, "80 of 100 bytes");
}

TEST_F(Bulk, too_many_bytes_poison_the_tensor) {
  const ValueId id = announce(bools(100));
  auto chunks = session_.chunks_of(id, std::string(140, '\1'), 40);
  chunks[0].mutable_target()->set_byte_size(100);
  expect_data_loss(id, chunks, "120 bytes arrived, the tensor has 100");
}

TEST_F(Bulk, a_call_of_another_size_than_announced_poisons_the_tensor) {
  const ValueId id = announce(bools(100));
  expect_data_loss(id, session_.chunks_of(id, std::string(99, '\1'), 40),
                   "99 bytes, the tensor has 100");
}

TEST_F(Bulk, a_gap_between_chunks_poisons_the_tensor) {
  const ValueId id = announce(bools(100));
  auto chunks = session_.chunks_of(id, std::string(100, '\1'), 40);
  chunks.erase(chunks.begin() + 1);
  expect_data_loss(id, chunks, "offset 80 arrived where 40 was due");
}

TEST_F(Bulk, a_broken_call_poisons_the_tensor) {
  const ValueId id = announce(bools(100));
  {
    grpc::ClientContext context;
    client_->prepare(context);
    v1::UploadReply reply;
    const auto writer = bulk_->stub().Upload(&context, &reply);
    ASSERT_TRUE(writer->Write(session_.chunks_of(id, std::string(100, '\1'), 40)[0]));
    context.TryCancel();
    (void)writer->Finish();
  }
  // Where the call was cancelled before its first chunk arrived, the worker still waits for
  // another.
  v1::UploadReply reply;
  const grpc::Status second =
      session_.upload(*bulk_, session_.chunks_of(id, std::string(100, '\1'), 40), reply);
  if (!second.ok()) {
    EXPECT_EQ(session_.read(id).status().code(),
              static_cast<uint32_t>(absl::StatusCode::kUnavailable));
  }
  expect_alive();
}

TEST(BulkRoom, an_upload_waits_for_those_of_other_sessions_instead_of_failing) {
  // Of these, 256 MiB are for uploads on their way: both fit the device, but not at once there.
  WorkerProcess worker(WorkerOptions{{"--threads", "1", "--memory-limit", "cpu=320MiB"}});
  RawClient client(worker);
  RawClient bulk(worker);
  RawSession first(client);
  RawSession second(client);
  const std::string bytes(size_t{140} << 20, '\1');
  const ValueId one(first.next_window(), 0);
  first.records().upload(one, 0, bools(bytes.size()));
  ASSERT_EQ(first.sync(0).status().code(), 0u) << "the announcement has been worked through";
  const std::vector<v1::Chunk> chunks = first.chunks_of(one, bytes, wire::kChunkBytes);
  grpc::ClientContext context;
  client.prepare(context);
  v1::UploadReply reply;
  const auto writer = bulk.stub().Upload(&context, &reply);
  ASSERT_TRUE(writer->Write(chunks[0]));

  const ValueId two(second.next_window(), 0);
  second.records().upload(two, 0, bools(bytes.size()));
  ASSERT_TRUE(second.send());
  grpc::Status other;
  std::thread uploading([&] {
    v1::UploadReply its_reply;
    other = second.upload(bulk, second.chunks_of(two, bytes, wire::kChunkBytes), its_reply);
  });
  for (size_t i = 1; i < chunks.size(); ++i) EXPECT_TRUE(writer->Write(chunks[i]));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(first.read(one).status().code(), 0u);
  uploading.join();
  EXPECT_TRUE(other.ok()) << other.error_message();
  EXPECT_EQ(second.read(two).status().code(), 0u);
}

TEST_F(Bulk, a_second_call_for_an_upload_is_refused) {
  const ValueId id = announce(bools(10));
  v1::UploadReply reply;
  ASSERT_TRUE(
      session_.upload(*bulk_, session_.chunks_of(id, std::string(10, '\1'), 40), reply).ok());
  ASSERT_EQ(session_.read(id).status().code(), 0u);
  const grpc::Status again =
      session_.upload(*bulk_, session_.chunks_of(id, std::string(10, '\0'), 40), reply);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::ALREADY_EXISTS) << again.error_message();
  EXPECT_EQ(session_.read(id).data(), std::string(10, '\1'));
}

TEST_F(Bulk, calls_that_name_no_session_or_target_are_refused) {
  v1::UploadReply reply;
  auto chunks = session_.chunks_of(ValueId(5, 0), "abc", 40);
  chunks[0].mutable_target()->set_session(std::string(32, 'z'));
  EXPECT_EQ(session_.upload(*bulk_, chunks, reply).error_code(), grpc::StatusCode::NOT_FOUND);
  chunks[0].clear_target();
  EXPECT_EQ(session_.upload(*bulk_, chunks, reply).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(session_.upload(*bulk_, {}, reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  std::string bytes;
  EXPECT_EQ(session_.download(*bulk_, 4711, bytes).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Bulk, a_chunk_without_bytes_poisons_the_tensor) {
  const ValueId id = announce(bools(100));
  auto chunks = session_.chunks_of(id, std::string(100, '\1'), 40);
  chunks[1].clear_data();
  v1::UploadReply reply;
  const grpc::Status status = session_.upload(*bulk_, chunks, reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("at offset 40 brings no bytes"));
  EXPECT_EQ(session_.read(id).status().code(),
            static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  expect_alive();
}

TEST(StuckUpload, a_call_that_brings_no_bytes_is_broken_off) {
  server::Options options;
  options.listen = "127.0.0.1:0";
  options.insecure = true;
  options.devices = {{}};
  options.threads = 1;
  options.upload_deadline_ms = 50;
  const auto address = server::parse_listen_address(options.listen);
  ASSERT_TRUE(address.ok()) << address.status();
  auto authenticator = server::Authenticator::create(options, *address);
  ASSERT_TRUE(authenticator.ok()) << authenticator.status();
  const auto worker = server::Worker::create(options, *std::move(authenticator));
  ASSERT_TRUE(worker.ok()) << worker.status();
  auto sockets = server::ListenSockets::open(*address);
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  const std::string listening = sockets->address().str();
  const auto endpoint = server::Endpoint::serve(**worker, *std::move(sockets));
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  RawClient client(listening, "");
  RawSession session(client);
  const ValueId id(session.next_window(), 0);
  session.records().upload(id, 0, bools(100));
  ASSERT_TRUE(session.send());

  grpc::ClientContext context;
  client.prepare(context);
  v1::UploadReply reply;
  const auto writer = client.stub().Upload(&context, &reply);
  ASSERT_TRUE(writer->Write(session.chunks_of(id, std::string(100, '\1'), 40)[0]));
  const grpc::Status status = writer->Finish();
  EXPECT_THAT(status.error_message(), HasSubstr("no bytes came for 50 ms after 40 had arrived"));
  EXPECT_EQ(session.read(id).status().code(),
            static_cast<uint32_t>(absl::StatusCode::kDeadlineExceeded));
  // One that does not even say what it brings ends likewise.
  grpc::ClientContext silent_context;
  client.prepare(silent_context);
  const auto silent = client.stub().Upload(&silent_context, &reply);
  EXPECT_THAT(silent->Finish().error_message(),
              HasSubstr("no bytes came for 50 ms after 0 had arrived"));
  EXPECT_TRUE(session.close().ok());
}

TEST_F(Bulk, a_session_that_ends_takes_its_uploads_along) {
  auto session = std::make_unique<RawSession>(*client_);
  const ValueId id(1, 0);
  session->records().upload(id, 0, bools(100));
  ASSERT_EQ(session->sync().status().code(), 0u);
  grpc::ClientContext context;
  client_->prepare(context);
  v1::UploadReply reply;
  const auto writer = bulk_->stub().Upload(&context, &reply);
  ASSERT_TRUE(writer->Write(session->chunks_of(id, std::string(100, '\1'), 40)[0]));
  EXPECT_TRUE(session->close().ok());
  writer->Write(session->chunks_of(id, std::string(100, '\1'), 40)[1]);
  writer->WritesDone();
  EXPECT_FALSE(writer->Finish().ok());
}

}  // namespace
}  // namespace remora::test
