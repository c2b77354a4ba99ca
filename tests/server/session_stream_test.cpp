// A session's stream: numbers, hello, acks, and what ends it.
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

class SessionStreams : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    worker_ = std::make_unique<WorkerProcess>(WorkerOptions{{"--threads", "1"}});
    client_ = std::make_unique<RawClient>(*worker_);
  }
  static void TearDownTestSuite() {
    client_.reset();
    worker_.reset();
  }
  static void expect_end(RawSession& session, grpc::StatusCode code, const std::string& part) {
    const grpc::Status status = session.status();
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(part));
  }

  static inline std::unique_ptr<WorkerProcess> worker_;
  static inline std::unique_ptr<RawClient> client_;
};

TEST_F(SessionStreams, a_hello_is_answered_by_a_welcome) {
  RawSession first(*client_);
  RawSession second(*client_);
  EXPECT_EQ(first.welcome().version(), wire::kMaxVersion);
  EXPECT_EQ(first.welcome().session().size(), 32u);
  EXPECT_NE(first.welcome().session(), second.welcome().session());
  v1::DescribeReply description;
  ASSERT_TRUE(client_->describe(description).ok());
  EXPECT_EQ(first.welcome().boot_nonce(), description.instance());
  EXPECT_EQ(first.welcome().quota_bytes(), description.session_quota_bytes());
  EXPECT_TRUE(first.close().ok());
  EXPECT_TRUE(second.close().ok());
}

TEST_F(SessionStreams, a_first_frame_without_hello_ends_the_session) {
  RawSession session(*client_, /*hello=*/false);
  session.send();
  expect_end(session, grpc::StatusCode::FAILED_PRECONDITION, "hello");
}

TEST_F(SessionStreams, a_client_of_other_versions_is_told_the_workers) {
  RawSession session(*client_, /*hello=*/false);
  v1::ClientFrame frame;
  frame.set_sequence(1);
  frame.mutable_hello()->mutable_versions()->set_min(wire::kMaxVersion + 1);
  frame.mutable_hello()->mutable_versions()->set_max(wire::kMaxVersion + 7);
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::FAILED_PRECONDITION, "this worker 1 to 1");
}

TEST_F(SessionStreams, a_gap_in_the_numbers_ends_the_session) {
  RawSession session(*client_);
  v1::ClientFrame frame;
  frame.set_sequence(3);
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::ABORTED, "frame 3 arrived where frame 2 was expected");
}

TEST_F(SessionStreams, a_number_that_comes_again_ends_the_session) {
  RawSession session(*client_);
  v1::ClientFrame frame;
  frame.set_sequence(1);
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::ABORTED, "frame 1");
}

TEST_F(SessionStreams, an_ack_of_what_was_never_sent_ends_the_session) {
  RawSession session(*client_);
  v1::ClientFrame frame;
  frame.set_sequence(2);
  frame.set_ack(50);
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::ABORTED, "frame 50");
}

TEST_F(SessionStreams, a_frame_without_a_number_carries_only_an_ack) {
  RawSession session(*client_);
  v1::ClientFrame frame;
  frame.set_ack(1);
  ASSERT_TRUE(session.send_frame(frame));
  EXPECT_EQ(session.sync().status().code(), 0u);
  session.records().sync(77, 0);
  frame.set_records(session.records().take());
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::ABORTED, "without a number");
}

TEST_F(SessionStreams, malformed_records_end_that_session_alone) {
  RawSession other(*client_);
  const ValueId value(1, 0);
  other.records().host_data(value, 0, floats({1, 2}));
  ASSERT_TRUE(other.send());
  RawSession session(*client_);
  v1::ClientFrame frame;
  frame.set_sequence(2);
  frame.set_records(std::string("\x01\xee garbage", 10));
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::INVALID_ARGUMENT, "record");
  EXPECT_THAT(other.read_floats(value), ElementsAre(1, 2));
}

TEST_F(SessionStreams, records_of_another_version_end_the_session) {
  RawSession session(*client_);
  v1::ClientFrame frame;
  frame.set_sequence(2);
  frame.set_records("\x63");
  session.send_frame(frame);
  expect_end(session, grpc::StatusCode::INVALID_ARGUMENT, "version 99");
}

TEST_F(SessionStreams, frames_are_acknowledged_without_being_asked) {
  RawSession session(*client_);
  v1::WorkerFrame frame;
  for (uint64_t i = 0; i < wire::kAckFrames; ++i) ASSERT_TRUE(session.send());
  while (session.last_ack() < wire::kAckFrames) ASSERT_TRUE(session.receive(frame));
}

TEST_F(SessionStreams, errors_of_one_session_do_not_reach_another) {
  RawSession first(*client_);
  RawSession second(*client_);
  const ValueId value(1, 0);
  first.records().host_data(value, 0, floats({1, 2}));
  ASSERT_THAT(first.read_floats(value), ElementsAre(1, 2));
  // The same id is another value, or none, in another session.
  EXPECT_EQ(second.read(value).status().code(), static_cast<uint32_t>(absl::StatusCode::kNotFound));
  second.records().host_data(value, 0, floats({8, 9}));
  EXPECT_THAT(second.read_floats(value), ElementsAre(8, 9));
  EXPECT_THAT(first.read_floats(value), ElementsAre(1, 2));
  EXPECT_TRUE(first.errors().empty());
}

TEST_F(SessionStreams, describe_lists_devices_and_what_they_run) {
  v1::DescribeReply description;
  ASSERT_TRUE(client_->describe(description).ok());
  ASSERT_EQ(description.devices_size(), 1);
  const v1::DeviceDescription& device = description.devices(0);
  EXPECT_EQ(device.text(), "cpu:0");
  EXPECT_FALSE(device.fingerprint().empty());
  EXPECT_GT(device.memory_limit_bytes(), 0u);
  bool adds_f32 = false;
  for (const v1::OpSupport& support : device.support()) {
    const bool is_add = support.opcode() == static_cast<uint32_t>(dispatch::OpCode::add);
    adds_f32 = adds_f32 || (is_add && (support.dtypes() >> static_cast<int>(DType::kF32) & 1) == 1);
  }
  EXPECT_TRUE(adds_f32);
}

TEST_F(SessionStreams, pull_is_not_in_this_version) {
  grpc::ClientContext context;
  client_->prepare(context);
  const auto reader = client_->stub().Pull(&context, v1::PullRequest());
  v1::Chunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("not in this version"));
}

}  // namespace
}  // namespace remora::test
