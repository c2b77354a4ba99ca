#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "client/ops.h"
#include "client/remote/private_worker.h"
#include "client/remote/worker_connection.h"
#include "client/tensor.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

using Clock = std::chrono::steady_clock;

/// A loopback port that is bound, so that nobody else takes it; it accepts only if `listening`.
class BoundPort {
 public:
  explicit BoundPort(bool listening) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    if (listening) {
      EXPECT_EQ(listen(fd_, 8), 0);
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~BoundPort() { close(fd_); }
  const std::string& address() const { return address_; }

 private:
  int fd_;
  std::string address_;
};

TEST(RemoteFailure, a_worker_that_is_not_there_is_unavailable_by_name) {
  const BoundPort port(false);
  const absl::Status error = error_of([&] { (void)Device::remote(port.address()).state(); });
  EXPECT_EQ(error.code(), absl::StatusCode::kUnavailable) << error;
  EXPECT_NE(error.message().find(port.address()), std::string::npos) << error;
}

TEST(RemoteFailure, a_worker_that_never_answers_is_unavailable_after_the_deadline) {
  const BoundPort port(true);
  RemoteOptions options;
  options.connect_deadline_ms = 300;
  set_remote_options(port.address(), options);
  const absl::Status error = error_of([&] { (void)Device::remote(port.address()).state(); });
  EXPECT_EQ(error.code(), absl::StatusCode::kUnavailable) << error;
  EXPECT_NE(error.message().find("300 ms"), std::string::npos) << error;
}

TEST(RemoteFailure, remote_options_wrong_token) {
  test::WorkerProcess worker({.flags = {}, .tcp = false, .token = kToken});
  const auto open = [&] {
    return error_of([&] { (void)Device::remote(worker.address()).state(); });
  };
  absl::Status error = open();
  EXPECT_EQ(error.code(), absl::StatusCode::kUnauthenticated) << error;
  EXPECT_NE(error.message().find("REMORA_TOKEN_FILE"), std::string::npos) << error;

  RemoteOptions options;
  options.token = "not-the-token-of-this-worker";
  set_remote_options(worker.address(), options);
  error = open();
  EXPECT_EQ(error.code(), absl::StatusCode::kUnauthenticated) << error;
  EXPECT_NE(error.message().find("RemoteOptions::token"), std::string::npos) << error;
  EXPECT_NE(error.message().find(worker.address()), std::string::npos) << error;
  EXPECT_EQ(error.message().find("not-the-token"), std::string::npos)
      << "the token is in the message";

  // The device is usable once the option is right.
  options.token = kToken;
  set_remote_options(worker.address(), options);
  EXPECT_TRUE(open().ok());
}

TEST(RemoteFailure, a_killed_worker_is_a_typed_error_and_the_program_goes_on) {
  TokenWorker doomed;
  TokenWorker other;
  const Tensor lost = from_data(ramp(4), {4}, doomed.device()) + 1.0;
  const Tensor kept = from_data(ramp(4), {4}, other.device()) + 1.0;
  const Tensor local = from_data(ramp(4), {4}, Device::cpu()) + 1.0;
  (void)lost.to_vector<float>();
  doomed.process().kill();
  const auto begin = Clock::now();
  const absl::Status error = error_of([&] { (void)(lost * 2.0).to_vector<float>(); });
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(error.code(), absl::StatusCode::kUnavailable) << error;
  EXPECT_NE(error.message().find(doomed.address()), std::string::npos) << error;
  // Recording goes on without a throw, later reads and syncs answer the same.
  const Tensor later = lost + 1.0;
  EXPECT_EQ(error_of([&] { (void)later.to_vector<float>(); }).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(error_of([&] { doomed.device().synchronize(); }).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(kept.to_vector<float>(), local.to_vector<float>());
}

TEST(RemoteFailure, reads_open_when_the_worker_dies_are_answered) {
  TokenWorker worker;
  const Tensor x = from_data(ramp(300 * 300), {300, 300}, worker.device());
  (void)x.slice(0, 0, 1).to_vector<float>();
  std::vector<ReadFuture> reads;
  for (int i = 0; i < 20; ++i) {
    Tensor y = x;
    for (int k = 0; k < 5; ++k) y = matmul(y, x) * 1e-6;
    reads.push_back(y.read_async());
  }
  worker.process().kill();
  int failed = 0;
  for (const ReadFuture& read : reads) {
    const absl::Status status = error_of([&] { (void)read.get(); });
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    ++failed;
  }
  EXPECT_GT(failed, 0);
}

TEST(RemoteFailure, an_upload_to_a_killed_worker_is_a_typed_error) {
  TokenWorker worker;
  worker.device().synchronize();
  worker.process().kill();
  const int64_t count = 4 << 20;
  const absl::Status error = error_of([&] {
    const Tensor x = from_data(ramp(static_cast<size_t>(count)), {count}, worker.device());
    (void)x.to_vector<float>();
  });
  EXPECT_EQ(error.code(), absl::StatusCode::kUnavailable) << error;
}

TEST(RemoteFailure, after_disconnect_old_tensors_are_lost_and_the_next_use_opens_a_session) {
  TokenWorker worker;
  const Device device = worker.device();
  const auto use = [&] { return (from_data({1.0f}, {1}, device) + 1.0).to_vector<float>(); };
  const Tensor old = from_data({1.0f}, {1}, device) + 1.0;
  EXPECT_EQ(use(), std::vector<float>{2.0f});
  const std::shared_ptr<Session> before = WorkerConnection::at(worker.address()).current();
  disconnect(worker.address());
  EXPECT_EQ(use(), std::vector<float>{2.0f});
  EXPECT_NE(WorkerConnection::at(worker.address()).current(), before);
  const absl::Status error = error_of([&] { (void)old.to_vector<float>(); });
  EXPECT_EQ(error.code(), absl::StatusCode::kUnavailable) << error;
  // What depends on a lost tensor is lost; what stands beside it in the same window is not.
  const Tensor fresh = from_data({5.0f}, {1}, device);
  const Tensor depends = old + fresh;
  const Tensor beside = fresh * 2.0;
  EXPECT_EQ(beside.to_vector<float>(), std::vector<float>{10.0f});
  EXPECT_EQ(error_of([&] { (void)depends.to_vector<float>(); }).code(),
            absl::StatusCode::kUnavailable);
}

TEST(RemoteFailure, a_restarted_worker_is_never_a_silent_new_session) {
  const std::string socket = testing::TempDir() + "remora-restarted-" + std::to_string(getpid());
  const auto start = [&] {
    return value_or_throw(PrivateWorker::start(
        {.program = test::remorad_path(), .listen = "unix:" + socket, .arguments = {}}));
  };
  std::unique_ptr<PrivateWorker> worker = start();
  const std::string address = worker->address();
  const Device device = Device::remote(address);
  const Tensor x = from_data({1.0f}, {1}, device) + 1.0;
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>{2.0f});
  worker.reset();
  worker = start();
  const auto ask = [&] { (void)(x + 1.0).to_vector<float>(); };
  const auto upload = [&] { (void)from_data({1.0f}, {1}, device); };
  EXPECT_EQ(error_of(ask).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(error_of(upload).code(), absl::StatusCode::kUnavailable);
  disconnect(address);
  EXPECT_TRUE(error_of(upload).ok());
  EXPECT_EQ(error_of(ask).code(), absl::StatusCode::kUnavailable);
  disconnect(address);
}

TEST(RemoteFailure, a_forked_child_gets_a_typed_error) {
  TokenWorker worker;
  const Device device = worker.device();
  const Tensor x = from_data({1.0f}, {1}, device);
  (void)x.to_vector<float>();
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status session = WorkerConnection::at(worker.address()).session().status();
    const absl::Status read = error_of([&] { (void)x.to_vector<float>(); });
    const bool right = session.code() == absl::StatusCode::kFailedPrecondition &&
                       read.code() == absl::StatusCode::kFailedPrecondition;
    _exit(right ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>{1.0f});
}

}  // namespace
}  // namespace remora::remote
