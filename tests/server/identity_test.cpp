// What all sessions of one identity may hold and use together.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::LiveSet;
using dispatch::OpCode;
using dispatch::ValueId;
using testing::HasSubstr;

constexpr auto kResourceExhausted = static_cast<uint32_t>(absl::StatusCode::kResourceExhausted);
const std::string kAlice = "the-token-of-alice-0123456789";
const std::string kBob = "the-token-of-bob-9876543210";

/// A worker that knows alice and bob, with these lines in its configuration.
class Identities : public testing::Test {
 protected:
  Identities() : folder_(testing::TempDir() + "identities-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
    write_private(folder_ + "/tokens", token_line("alice", kAlice) + token_line("bob", kBob));
  }
  ~Identities() override { std::filesystem::remove_all(folder_); }

  void start(const std::string& config, const std::string& devices = "cpu,cpu") {
    std::ofstream(folder_ + "/remorad.toml") << config;
    worker_ = std::make_unique<WorkerProcess>(
        WorkerOptions{.flags = {"--config", folder_ + "/remorad.toml", "--token-file",
                                folder_ + "/tokens", "--devices", devices, "--threads", "1"}});
    alice_ = std::make_unique<RawClient>(worker_->address(), kAlice);
    bob_ = std::make_unique<RawClient>(worker_->address(), kBob);
  }

  const std::string folder_;
  std::unique_ptr<WorkerProcess> worker_;
  std::unique_ptr<RawClient> alice_;
  std::unique_ptr<RawClient> bob_;
};

/// A constant tensor of so many bytes.
ValueId fill(RawSession& session, int64_t bytes, uint32_t device = 0) {
  const TestGraph graph =
      one_op(OpCode::full, {}, dispatch::FullAttrs{DType::kF32, Shape({bytes / 4}), 1.0});
  const uint64_t window = session.next_window();
  session.records().once(device, LiveSet{true}, *graph.graph, {window, {}, graph.params, {}});
  return {window, 0};
}

TEST_F(Identities, bytes_are_counted_over_all_sessions_and_refused_with_both_numbers) {
  start("identity-quota = \"4MiB\"\n");
  RawSession first(*alice_);
  RawSession second(*alice_);
  EXPECT_EQ(first.read(fill(first, 3 << 20)).status().code(), 0u);
  const v1::ReadReply refused = second.read(fill(second, 2 << 20));
  EXPECT_EQ(refused.status().code(), kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("identity alice: 2097152 bytes asked for"));
  EXPECT_THAT(refused.status().message(), HasSubstr("of 4194304 in use"));
  // Somebody else's are another's.
  RawSession other(*bob_);
  EXPECT_EQ(other.read(fill(other, 3 << 20)).status().code(), 0u);
  // And they come back with the session.
  EXPECT_TRUE(first.close().ok());
  ASSERT_TRUE(
      alice_->describe_until([](const v1::DescribeReply& reply) { return reply.sessions() == 2; }));
  EXPECT_EQ(second.read(fill(second, 2 << 20)).status().code(), 0u);
}

TEST_F(Identities, sessions_are_counted_and_refused_with_both_numbers) {
  start("identity-sessions = 3\n[identity.alice]\nsessions = 2\n");
  RawSession first(*alice_);
  auto second = std::make_unique<RawSession>(*alice_);
  RawSession third(*alice_);
  const grpc::Status refused = third.status();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("identity alice has 2 sessions; at most 2"));
  RawSession other(*bob_);
  EXPECT_EQ(other.sync().status().code(), 0u);
  second.reset();
  ASSERT_TRUE(
      alice_->describe_until([](const v1::DescribeReply& reply) { return reply.sessions() == 2; }));
  RawSession fourth(*alice_);
  EXPECT_EQ(fourth.sync().status().code(), 0u);
  worker_->terminate();
  EXPECT_THAT(worker_->log(), HasSubstr("Session of 'alice' from"));
  EXPECT_THAT(worker_->log(), HasSubstr("refused: identity alice has 2 sessions"));
}

TEST_F(Identities, bytes_in_flight_wait_and_a_tensor_beyond_them_is_refused) {
  start("identity-in-flight = \"1MiB\"\n");
  RawSession first(*alice_);
  RawSession second(*alice_);
  const ValueId large(first.next_window(), 0);
  first.records().upload(large, 0, f32({1 << 19}));
  const v1::ReadReply refused = first.read(large);
  EXPECT_EQ(refused.status().code(), kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr(std::to_string(2 << 20)));
  EXPECT_THAT(refused.status().message(), HasSubstr("at most 1048576 are allowed"));
  // Announced in one session, an upload keeps the other waiting until its bytes have come.
  const std::string bytes(900 << 10, 'x');
  const Spec spec = f32({static_cast<int64_t>(bytes.size()) / 4});
  const ValueId one(first.next_window(), 0);
  first.records().upload(one, 0, spec);
  EXPECT_TRUE(first.send());
  EXPECT_EQ(first.sync(1).status().code(), 0u) << "the announcement has been worked through";
  const ValueId two(second.next_window(), 0);
  second.records().upload(two, 0, spec);
  EXPECT_TRUE(second.send());
  v1::UploadReply reply;
  EXPECT_TRUE(first.upload(*alice_, first.chunks_of(one, bytes, wire::kChunkBytes), reply).ok());
  EXPECT_TRUE(second.upload(*alice_, second.chunks_of(two, bytes, wire::kChunkBytes), reply).ok());
  EXPECT_EQ(second.read(two).status().code(), 0u);
}

TEST_F(Identities, devices_can_be_kept_from_an_identity) {
  start("[identity.alice]\ndevices = [\"cpu:1\"]\n");
  v1::DescribeReply reply;
  ASSERT_TRUE(alice_->describe(reply).ok());
  ASSERT_EQ(reply.devices_size(), 1);
  EXPECT_EQ(reply.devices(0).text(), "cpu:1");
  ASSERT_TRUE(bob_->describe(reply).ok());
  EXPECT_EQ(reply.devices_size(), 2);
  RawSession session(*alice_);
  EXPECT_EQ(session.read(fill(session, 1024, 0)).status().code(), 0u);
  const v1::ReadReply refused = session.sync(1);
  EXPECT_EQ(refused.status().code(), static_cast<uint32_t>(absl::StatusCode::kNotFound));
}

TEST_F(Identities, one_that_may_use_nothing_that_is_served_is_refused_by_name) {
  start("[identity.alice]\ndevices = [\"vulkan\"]\n", "cpu,vulkan?");
  v1::DescribeReply reply;
  const grpc::Status described = alice_->describe(reply);
  EXPECT_EQ(described.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(
      described.error_message(),
      HasSubstr("identity alice: this worker serves none of the devices it may use (vulkan:0)"));
  RawSession session(*alice_);
  EXPECT_EQ(session.status().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  RawSession other(*bob_);
  EXPECT_EQ(other.sync().status().code(), 0u);
}

TEST_F(Identities, a_session_is_its_identitys_alone_on_the_bulk_plane) {
  start("");
  RawSession session(*alice_);
  const v1::ReadReply read = session.read(fill(session, 1 << 20));
  ASSERT_TRUE(read.streamed());
  std::string bytes;
  EXPECT_EQ(session.download(*bob_, read.number(), bytes).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(session.download(*alice_, read.number(), bytes).ok());
}

TEST_F(Identities, a_device_that_is_not_served_is_a_mistake) {
  std::ofstream(folder_ + "/remorad.toml") << "[identity.alice]\ndevices = [\"cpu:7\"]\n";
  ChildProcess worker({remorad_path(), "--exit-with-parent", "--config", folder_ + "/remorad.toml",
                       "--listen", "unix:" + folder_ + "/socket"});
  EXPECT_EQ(worker.wait().code, 1);
  EXPECT_THAT(worker.errors(), HasSubstr("identity alice: the device cpu:7 is not one of"));
}

TEST_F(Identities, memory_of_one_that_left_is_given_back) {
  start("");
  {
    RawSession session(*alice_);
    EXPECT_EQ(session.read(fill(session, 8 << 20)).status().code(), 0u);
    EXPECT_TRUE(session.close().ok());
  }
  EXPECT_TRUE(bob_->describe_until([](const v1::DescribeReply& reply) {
    uint64_t bytes = 0;
    for (const v1::DeviceDescription& device : reply.devices()) bytes += device.live_bytes();
    return reply.sessions() == 0 && bytes == 0;
  }));
}

}  // namespace
}  // namespace remora::test
