// A session's memory: it goes with its session, and is bounded by the quota.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::LiveSet;
using dispatch::OpCode;
using dispatch::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kResourceExhausted = static_cast<uint32_t>(absl::StatusCode::kResourceExhausted);
constexpr char kAddressVariable[] = "REMORA_TEST_WORKER_ADDRESS";

uint64_t live_bytes(const v1::DescribeReply& reply) {
  uint64_t bytes = 0;
  for (const v1::DeviceDescription& device : reply.devices()) bytes += device.live_bytes();
  return bytes;
}

bool nothing_left(const v1::DescribeReply& reply) {
  return reply.sessions() == 0 && live_bytes(reply) == 0;
}

/// A constant tensor of so many bytes.
ValueId fill(RawSession& session, int64_t bytes) {
  const TestGraph graph =
      one_op(OpCode::full, {}, dispatch::FullAttrs{DType::kF32, Shape({bytes / 4}), 1.0});
  const uint64_t window = session.next_window();
  session.records().once(0, LiveSet{true}, *graph.graph, {window, {}, graph.params, {}});
  return {window, 0};
}

/// Makes tensors, and leaves a window parked on an upload that never comes.
void occupy(RawSession& session) {
  fill(session, 1 << 20);
  const ValueId pending(session.next_window(), 0);
  session.records().upload(pending, 0, f32({1 << 16}));
  const TestGraph graph = one_op(OpCode::add, {f32({1 << 16}), f32({1 << 16})});
  session.records().once(0, LiveSet{true}, *graph.graph,
                         {session.next_window(), {pending, pending}, {}, {false, false}});
  session.records().host_data(ValueId(session.next_window(), 0), 0, floats({1, 2, 3}));
  ASSERT_TRUE(session.send());
}

bool occupied(const v1::DescribeReply& reply) { return live_bytes(reply) >= 1 << 20; }

class Memory : public testing::Test {
 protected:
  Memory()
      : worker_({{"--threads", "1", "--session-quota", "4MiB", "--devices", "cpu,cpu"}}),
        client_(worker_) {}

  WorkerProcess worker_;
  RawClient client_;
};

TEST_F(Memory, a_closed_session_leaves_nothing_behind) {
  RawSession session(client_);
  occupy(session);
  ASSERT_TRUE(client_.describe_until(occupied));
  EXPECT_TRUE(session.close().ok());
  EXPECT_TRUE(client_.describe_until(nothing_left));
}

TEST(Downloads, one_that_nobody_takes_ends_with_its_session) {
  WorkerProcess worker;
  RawClient client(worker);
  RawClient bulk(worker);
  RawSession session(client);
  const ValueId value = fill(session, 64 << 20);
  const v1::ReadReply read = session.read(value);
  ASSERT_TRUE(read.streamed()) << read.status().message();
  v1::DownloadRequest request;
  request.set_session(session.welcome().session());
  request.set_read(read.number());
  grpc::ClientContext context;
  bulk.prepare(context);
  const auto reader = bulk.stub().Download(&context, request);
  v1::Chunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_TRUE(session.close().ok());
  EXPECT_TRUE(client.describe_until(nothing_left));
  while (reader->Read(&chunk)) continue;
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(Memory, a_cancelled_session_leaves_nothing_behind) {
  RawSession session(client_);
  occupy(session);
  ASSERT_TRUE(client_.describe_until(occupied));
  session.cancel();
  EXPECT_TRUE(client_.describe_until(nothing_left));
}

TEST_F(Memory, a_session_that_ends_by_an_error_leaves_nothing_behind) {
  RawSession session(client_);
  occupy(session);
  ASSERT_TRUE(client_.describe_until(occupied));
  v1::ClientFrame frame;
  frame.set_sequence(99);
  session.send_frame(frame);
  EXPECT_TRUE(client_.describe_until(nothing_left));
}

/// What a killed client does: this program is that client where the variable has a worker's
/// address, and runs no test.
class OccupyInstead : public testing::Environment {
 public:
  void SetUp() override {
    const char* const address = std::getenv(kAddressVariable);
    if (address == nullptr) return;
    RawClient client(address, "");
    RawSession session(client);
    occupy(session);
    if (client.describe_until(occupied)) std::puts("occupied");
    std::fflush(stdout);
    v1::WorkerFrame frame;
    while (session.receive(frame)) continue;
    std::_Exit(1);  // the session ended before the client was killed
  }
};
const testing::Environment* const kOccupyInstead =
    testing::AddGlobalTestEnvironment(std::make_unique<OccupyInstead>().release());

TEST_F(Memory, a_killed_client_leaves_nothing_behind_and_others_undisturbed) {
  RawSession other(client_);
  const ValueId value(other.next_window(), 0);
  other.records().host_data(value, 0, floats({4, 5}));
  ASSERT_THAT(other.read_floats(value), ElementsAre(4, 5));
  v1::DescribeReply before;
  ASSERT_TRUE(client_.describe(before).ok());

  ChildProcess child({"/proc/self/exe"}, {std::string(kAddressVariable) + "=" + worker_.address()});
  while (child.read_line() != "occupied") continue;
  v1::DescribeReply during;
  ASSERT_TRUE(client_.describe(during).ok());
  EXPECT_EQ(during.sessions(), 2u);
  EXPECT_TRUE(occupied(during));
  child.kill();
  EXPECT_TRUE(client_.describe_until([&](const v1::DescribeReply& reply) {
    return reply.sessions() == 1 && live_bytes(reply) == live_bytes(before);
  }));
  EXPECT_THAT(other.read_floats(value), ElementsAre(4, 5));
}

TEST_F(Memory, a_tensor_beyond_the_quota_is_refused_with_both_numbers) {
  RawSession session(client_);
  const ValueId small = fill(session, 1 << 20);
  const ValueId large = fill(session, 5 << 20);
  const v1::ReadReply refused = session.read(large);
  EXPECT_EQ(refused.status().code(), kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr(std::to_string(5 << 20)));
  EXPECT_THAT(refused.status().message(), HasSubstr(std::to_string(4 << 20)));
  EXPECT_EQ(session.read(small).status().code(), 0u);
}

TEST_F(Memory, an_upload_beyond_the_quota_is_refused_before_its_bytes) {
  RawSession session(client_);
  const ValueId large(session.next_window(), 0);
  session.records().upload(large, 0, f32({2 << 20}));
  const v1::ReadReply refused = session.read(large);
  EXPECT_EQ(refused.status().code(), kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr(std::to_string(8 << 20)));
  EXPECT_THAT(refused.status().message(), HasSubstr(std::to_string(4 << 20)));
  v1::UploadReply reply;
  const grpc::Status status = session.upload(
      client_, session.chunks_of(large, std::string(8 << 20, 'x'), wire::kChunkBytes), reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const ValueId value(session.next_window(), 0);
  session.records().host_data(value, 0, floats({1}));
  EXPECT_THAT(session.read_floats(value), ElementsAre(1));
}

TEST_F(Memory, dropped_tensors_make_room) {
  RawSession session(client_);
  for (int i = 0; i < 20; ++i) {
    const ValueId value = fill(session, 3 << 19);
    session.records().drop(value.window(), 0, 1);
  }
  const ValueId last = fill(session, 3 << 19);
  const v1::ReadReply reply = session.read(last);
  EXPECT_EQ(reply.status().code(), 0u) << reply.status().message();
  EXPECT_TRUE(session.errors().empty());
}

TEST_F(Memory, a_quota_is_each_sessions_own) {
  RawSession first(client_);
  RawSession second(client_);
  EXPECT_EQ(first.read(fill(first, 2 << 20)).status().code(), 0u);
  EXPECT_EQ(second.read(fill(second, 2 << 20)).status().code(), 0u);
}

TEST_F(Memory, a_read_that_shares_its_tensors_memory_costs_nothing_beside_it) {
  RawSession session(client_);
  const ValueId value = fill(session, 3 << 20);
  const v1::ReadReply read = session.read(value);
  ASSERT_TRUE(read.streamed()) << read.status().message();
  // The memory stays paid for while the read waits, though the tensor is gone.
  session.records().drop(value.window(), 0, 1);
  EXPECT_EQ(session.read(fill(session, 2 << 20)).status().code(), kResourceExhausted);
  std::string bytes;
  EXPECT_TRUE(session.download(client_, read.number(), bytes).ok());
  EXPECT_EQ(bytes.size(), size_t{3} << 20);
  ASSERT_TRUE(client_.describe_until(
      [](const v1::DescribeReply& reply) { return live_bytes(reply) < 1 << 20; }));
  EXPECT_EQ(session.read(fill(session, 2 << 20)).status().code(), 0u);
}

TEST_F(Memory, a_read_that_is_a_copy_counts) {
  RawSession session(client_);
  constexpr int64_t kCount = 5 << 17;  // 2.5 MiB
  const ValueId whole = fill(session, 4 * kCount);
  // A view of all but one element: its bytes are made for the read.
  const TestGraph graph =
      one_op(OpCode::slice, {f32({kCount})}, dispatch::SliceAttrs{{1}, {1}, {kCount - 1}});
  const ValueId view(session.next_window(), 0);
  session.records().once(0, LiveSet{true}, *graph.graph,
                         {view.window(), {whole}, graph.params, {false}});
  const v1::ReadReply refused = session.read(view);
  EXPECT_EQ(refused.status().code(), kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("read of f32[655359]"));
}

TEST_F(Memory, host_data_ahead_of_its_use_waits_instead_of_failing) {
  // Far more than the quota passes through; at any point of the stream only a little is alive.
  RawSession session(client_);
  const Spec spec = f32({16'000});
  const auto data = dispatch::HostData::copy_of(spec, std::vector<std::byte>(64'000));
  for (int i = 0; i < 300; ++i) {
    const ValueId value(session.next_window(), 0);
    session.records().host_data(value, 0, data);
    session.records().drop(value.window(), 0, 1);
    if (session.records().size() > wire::kTargetFrameBytes) {
      ASSERT_TRUE(session.send());
    }
  }
  EXPECT_EQ(session.sync().status().code(), 0u);
  EXPECT_TRUE(session.errors().empty());
}

}  // namespace
}  // namespace remora::test
