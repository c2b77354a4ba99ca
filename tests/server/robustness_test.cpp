// What a worker makes of peers that are silent, slow, strange or many: they are refused or ended at
// a bound, it is logged, and others go on.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/limits.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::LiveSet;
using dispatch::OpCode;
using dispatch::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kAddressVariable[] = "REMORA_TEST_IDLE_WORKER";

/// A connection to a port of this machine, which the caller closes.
int connect_to(const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  target.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof target), 0);
  return fd;
}

/// Sends bytes to a port and waits until the other side closes.
void say(const std::string& address, const std::string& bytes) {
  const int fd = connect_to(address);
  const absl::Cleanup closing = [fd] { close(fd); };
  ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  char answer[4096];
  while (recv(fd, answer, sizeof answer, 0) > 0) continue;
}

/// A session that works.
void compute(RawClient& client, float value) {
  RawSession session(client);
  const ValueId id(session.next_window(), 0);
  session.records().host_data(id, 0, floats({value}));
  EXPECT_THAT(session.read_floats(id), ElementsAre(value));
}

TEST(StrangePeers, bytes_that_are_no_http2_are_refused_and_logged) {
  WorkerProcess worker({.flags = {"--threads", "1"}, .tcp = true});
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(1 + random() % 2000, '\0');
    for (char& each : bytes) each = static_cast<char>(random());
    if (bytes.front() == 'P' || bytes.front() == 0x16) bytes.front() = 'x';
    say(worker.address(), bytes);
  }
  say(worker.address(), "GET / HTTP/1.1\r\nHost: worker\r\n\r\n");
  say(worker.address(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nand then nonsense");
  RawClient client(worker);
  compute(client, 1);
  worker.terminate();
  EXPECT_THAT(worker.log(),
              HasSubstr("refused: it does not speak HTTP/2; it began with 'GET / HTTP/1.1"));
}

TEST(StrangePeers, another_version_of_the_protocol_is_refused_and_logged) {
  WorkerProcess worker;
  RawClient client(worker);
  RawSession session(client, /*hello=*/false);
  v1::ClientFrame frame;
  frame.set_sequence(1);
  frame.mutable_hello()->mutable_versions()->set_min(wire::kMaxVersion + 1);
  frame.mutable_hello()->mutable_versions()->set_max(wire::kMaxVersion + 7);
  session.send_frame(frame);
  const grpc::Status status = session.status();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("speaks versions"));
  worker.terminate();
  EXPECT_THAT(worker.log(), HasSubstr("session 1 of 'local' ended"));
  EXPECT_THAT(worker.log(), HasSubstr("speaks versions"));
}

TEST(ManyPeers, fifty_clients_at_once_are_all_served) {
  WorkerProcess worker({.flags = {"--threads", "1"}, .tcp = true, .token = "0123456789abcdef"});
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  threads.reserve(50);
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([&worker, &served, i] {
      RawClient client(worker);
      RawSession session(client);
      const ValueId id(session.next_window(), 0);
      const std::string bytes(1 << 20, static_cast<char>(i));
      session.records().upload(id, 0, f32({1 << 18}));
      if (!session.send()) return;
      v1::UploadReply reply;
      if (!session.upload(client, session.chunks_of(id, bytes, wire::kChunkBytes), reply).ok())
        return;
      const v1::ReadReply read = session.read(id);
      std::string back;
      if (session.download(client, read.number(), back).ok() && back == bytes) ++served;
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(served, 50);
  RawClient client(worker);
  EXPECT_TRUE(
      client.describe_until([](const v1::DescribeReply& reply) { return reply.sessions() == 0; }));
}

TEST(StrangePeers, a_window_of_more_bytes_than_can_be_counted_is_refused_and_harms_nobody) {
  WorkerProcess worker;
  RawClient client(worker);
  RawSession session(client);
  const Spec spec{DType::kF64, Shape({dispatch::kMaxElements})};
  dispatch::GraphBuilder builder;
  constexpr size_t kOps = 4200;  // of 2^51 bytes each: 2^63 and more
  for (size_t i = 0; i < kOps; ++i) {
    builder.add_op(dispatch::op_info(dispatch::OpCode::full), {},
                   dispatch::FullAttrs{spec.dtype, spec.shape, 1.0}, std::vector{spec});
  }
  TestGraph graph;
  graph.graph = builder.finish(graph.params);
  const uint64_t window = session.next_window();
  session.records().once(0, dispatch::LiveSet(kOps, true), *graph.graph,
                         {window, {}, graph.params, {}});
  EXPECT_EQ(session.read({window, 0}).status().code(),
            static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(session.sync().status().code(), 0u);
}

TEST(StrangePeers, connections_that_say_nothing_keep_nobody_out) {
  WorkerProcess worker({.flags = {"--threads", "1"}, .tcp = true});
  std::vector<int> silent;
  const absl::Cleanup closing = [&] {
    for (const int fd : silent) close(fd);
  };
  for (size_t i = 0; i < server::kMaxSilentConnections + 50; ++i) {
    silent.push_back(connect_to(worker.address()));
  }
  RawClient client(worker);
  compute(client, 1.5f);
  // The first was closed for those that came after it.
  char answer = 0;
  EXPECT_EQ(recv(silent.front(), &answer, 1, 0), 0);
  worker.terminate();
  EXPECT_THAT(worker.log(), HasSubstr("it said nothing while 256 others waited"));
}

TEST(SlowPeers, one_that_takes_no_replies_is_ended_at_the_bound_and_others_go_on) {
  WorkerProcess worker({.flags = {"--threads", "1", "--reply-timeout", "500ms"}});
  RawClient client(worker);
  RawClient greedy(worker);
  RawSession session(greedy);
  const TestGraph graph =
      one_op(OpCode::full, {}, dispatch::FullAttrs{DType::kF32, Shape({1 << 14}), 1.0});
  const ValueId value(session.next_window(), 0);
  session.records().once(0, LiveSet{true}, *graph.graph, {value.window(), {}, graph.params, {}});
  // 2,000 answers of 64 KiB, none of which is taken.
  for (uint64_t i = 1; i <= 2000; ++i) session.records().read(i, value);
  ASSERT_TRUE(session.send());
  EXPECT_TRUE(
      client.describe_until([&](const v1::DescribeReply& reply) { return reply.sessions() == 0; }));
  compute(client, 2);
  EXPECT_FALSE(session.status().ok());
  worker.terminate();
  EXPECT_THAT(worker.log(), HasSubstr("has not taken a reply for 500 ms (--reply-timeout)"));
}

TEST(SlowPeers, a_session_without_frames_is_ended_at_the_idle_timeout) {
  WorkerProcess worker({.flags = {"--threads", "1", "--idle-timeout", "300ms"}});
  RawClient client(worker);
  RawSession session(client);
  const grpc::Status status = session.status();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("no frame came for 300 ms (--idle-timeout)"));
}

/// What a client does that is stopped or interrupted: this program is that client where the
/// variable has a worker's address, and runs no test.
class IdleInstead : public testing::Environment {
 public:
  void SetUp() override {
    const char* const address = std::getenv(kAddressVariable);
    if (address == nullptr) return;
    RawClient client(address, "");
    RawSession session(client);
    std::puts(session.welcome().session().empty() ? "refused" : "connected");
    std::fflush(stdout);
    v1::WorkerFrame frame;
    while (session.receive(frame)) continue;
    std::_Exit(1);
  }
};
const testing::Environment* const kIdleInstead =
    testing::AddGlobalTestEnvironment(std::make_unique<IdleInstead>().release());

bool no_session(const v1::DescribeReply& reply) { return reply.sessions() == 0; }

TEST(DeadPeers, one_that_answers_no_keepalive_is_ended) {
  WorkerProcess worker({.flags = {"--threads", "1", "--keepalive", "1s"}});
  ChildProcess child({"/proc/self/exe"}, {std::string(kAddressVariable) + "=" + worker.address()});
  while (child.read_line() != "connected") continue;
  child.send_signal(SIGSTOP);
  RawClient client(worker);
  EXPECT_TRUE(client.describe_until(no_session));
  child.kill();
}

}  // namespace
}  // namespace remora::test
