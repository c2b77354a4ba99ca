// A worker's life: first line, health, draining, following its parent, its socket.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::ValueId;
using testing::HasSubstr;

/// How remorad ends with these arguments, and what it says.
struct Refusal {
  int code;
  std::string errors;
};
Refusal refusal(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {remorad_path(), "--exit-with-parent"});
  ChildProcess process(arguments);
  const ExitState state = process.wait();
  return {state.code, process.errors()};
}

TEST(Lifecycle, a_free_port_is_taken_and_named) {
  WorkerProcess first({.tcp = true});
  WorkerProcess second({.tcp = true});
  EXPECT_THAT(first.address(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
  EXPECT_NE(first.address(), second.address());
}

TEST(Lifecycle, an_operation_without_end_does_not_keep_the_worker) {
  WorkerProcess worker({.flags = {"--devices", "cpu,cpu", "--threads", "1"}});
  RawClient client(worker);
  RawSession session(client);
  // Minutes of work: a one seen as 2^40 of them, summed up.
  const Shape huge({int64_t{1} << 40});
  dispatch::GraphBuilder builder;
  const Spec one = f32({1});
  const dispatch::Position x = dispatch::Position::external(builder.add_input(one));
  builder.add_op(dispatch::op_info(dispatch::OpCode::broadcast_to), std::vector{x},
                 dispatch::ShapeAttrs{huge}, std::vector{Spec{DType::kF32, huge}});
  builder.add_op(dispatch::op_info(dispatch::OpCode::sum),
                 std::vector{dispatch::Position::output(0)},
                 dispatch::ReduceAttrs{.axes = {0}, .keepdims = false},
                 std::vector{Spec{DType::kF32, Shape()}});
  TestGraph graph;
  graph.graph = builder.finish(graph.params);
  const ValueId input(session.next_window(), 0);
  session.records().host_data(input, 0, floats({1}));
  const uint64_t window = session.next_window();
  session.records().once(0, dispatch::LiveSet{false, true}, *graph.graph,
                         {window, {input}, graph.params, {false}});
  ASSERT_EQ(session.sync(1).status().code(), 0u) << "the operation is on its way";
  EXPECT_EQ(worker.terminate().code, 0);
}

TEST(Lifecycle, sigterm_ends_sessions_as_unavailable_and_exits_with_0) {
  for (const int signal : {SIGTERM, SIGINT}) {
    WorkerProcess worker;
    RawClient client(worker);
    RawSession session(client);
    const ValueId pending(session.next_window(), 0);
    session.records().upload(pending, 0, f32({2}));
    session.records().read(900, pending);
    ASSERT_TRUE(session.send());
    ASSERT_EQ(session.read(ValueId(99, 0)).status().code(),
              static_cast<uint32_t>(absl::StatusCode::kNotFound));
    ASSERT_EQ(kill(worker.pid(), signal), 0);
    const grpc::Status status = session.status();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_EQ(worker.wait().code, 0) << worker.log();
    EXPECT_FALSE(std::filesystem::exists(worker.address().substr(5)));
  }
}

TEST(Lifecycle, health_is_served_without_a_token) {
  WorkerProcess worker({.tcp = true, .token = "0123456789abcdef"});
  RawClient client(worker.address(), "");
  // grpc.health.v1.HealthCheckRequest without a service is empty; a reply of status SERVING is 08
  // 01.
  grpc::GenericStub stub(client.channel());
  grpc::ClientContext context;
  client.prepare(context);
  grpc::CompletionQueue queue;
  const grpc::Slice nothing("");
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                          grpc::ByteBuffer(&nothing, 1), &queue);
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice bytes;
  ASSERT_TRUE(reply.DumpToSingleSlice(&bytes).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size()),
            std::string("\x08\x01"));
}

TEST(Lifecycle, a_worker_ends_with_its_parent) {
  // A shell starts the worker, says its process id and dies.
  const std::string folder =
      std::filesystem::temp_directory_path() / ("remora-parent-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  ChildProcess shell(
      {"/bin/sh", "-c",
       remorad_path() + " --exit-with-parent --listen unix:" + folder + "/s & echo $!; wait"});
  const pid_t worker = std::stoi(shell.read_line());
  EXPECT_THAT(shell.read_line(), HasSubstr("listening on unix:"));
  ASSERT_EQ(kill(worker, 0), 0);
  shell.kill();
  // The worker holds the pipe of its output open for as long as it lives.
  EXPECT_THROW(shell.read_line(), std::runtime_error);  // the end of the pipe
  EXPECT_FALSE(std::filesystem::exists(folder + "/s"));
  std::filesystem::remove_all(folder);
}

TEST(Lifecycle, a_worker_outlives_the_thread_that_started_it) {
  std::unique_ptr<WorkerProcess> worker;
  std::thread([&] { worker = std::make_unique<WorkerProcess>(); }).join();
  RawClient client(*worker);
  v1::DescribeReply reply;
  EXPECT_TRUE(client.describe(reply).ok());
  EXPECT_EQ(worker->terminate().code, 0) << worker->log();
}

TEST(Lifecycle, a_worker_keeps_no_file_of_who_started_it) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("remora-held-" + std::to_string(getpid()));
  std::ofstream(path) << "held";
  ChildProcess worker({"/bin/sh", "-c",
                       "exec 7<" + path + "; exec " + remorad_path() +
                           " --exit-with-parent --listen 127.0.0.1:0 --insecure"});
  EXPECT_THAT(worker.read_line(), HasSubstr("listening on "));
  size_t files = 0;
  const std::string folder = "/proc/" + std::to_string(worker.pid()) + "/fd";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::error_code closed_meanwhile;
    EXPECT_NE(std::filesystem::read_symlink(file, closed_meanwhile), path);
    ++files;
  }
  EXPECT_GE(files, 3u);
  std::filesystem::remove(path);
}

TEST(Lifecycle, a_worker_that_is_no_child_of_whom_it_follows_ends_at_once) {
  ChildProcess other({"/bin/sleep", "60"});
  ChildProcess worker({remorad_path(), "--exit-with-parent=" + std::to_string(other.pid()),
                       "--listen", "127.0.0.1:0", "--insecure"});
  EXPECT_EQ(worker.wait().code, 0) << worker.errors();
  EXPECT_THROW(worker.read_line(), std::runtime_error);
}

TEST(Lifecycle, a_stale_socket_is_replaced_and_a_live_one_is_not) {
  auto first = std::make_unique<WorkerProcess>();
  const std::string address = first->address();
  const Refusal live = refusal({"--listen", address});
  EXPECT_EQ(live.code, 1);
  EXPECT_THAT(live.errors, HasSubstr("another process listens on " + address));
  first->kill();
  ASSERT_TRUE(std::filesystem::exists(address.substr(5)));
  ChildProcess second({remorad_path(), "--exit-with-parent", "--listen", address});
  EXPECT_EQ(second.read_line(), "listening on " + address);
}

TEST(Lifecycle, a_file_that_is_no_socket_is_left_alone) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("remora-file-" + std::to_string(getpid()));
  std::ofstream(path) << "precious";
  const Refusal refused = refusal({"--listen", "unix:" + path});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("is not a socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

TEST(Lifecycle, a_port_in_use_is_refused) {
  WorkerProcess worker({.tcp = true});
  const Refusal refused = refusal({"--listen", worker.address(), "--insecure"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.errors, HasSubstr(worker.address()));
  EXPECT_THAT(refused.errors, HasSubstr("Address already in use"));
}

TEST(Lifecycle, an_address_of_another_machine_is_refused_with_the_reason) {
  EXPECT_THAT(refusal({"--listen", "192.0.2.1:7070", "--insecure"}).errors,
              HasSubstr("Cannot assign requested address"));
  EXPECT_THAT(refusal({"--listen", "unix:/nowhere/deep/remora.sock"}).errors,
              HasSubstr("No such file or directory"));
}

TEST(Lifecycle, mistakes_on_the_command_line_exit_with_2) {
  EXPECT_EQ(refusal({"--frobnicate"}).code, 2);
  EXPECT_EQ(refusal({"--threads", "many"}).code, 2);
  EXPECT_EQ(refusal({"--devices", "tpu"}).code, 2);
}

TEST(Lifecycle, without_listen_worker_and_program_meet_on_the_default_socket) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("remora-run-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::vector<std::string> environment = {"XDG_RUNTIME_DIR=" + folder, "RUNTIME_DIRECTORY="};
  ChildProcess worker({remorad_path(), "--exit-with-parent"}, environment);
  const std::string path = folder + "/remora/remora.sock";
  EXPECT_EQ(worker.read_line(), "listening on unix:" + path);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(std::filesystem::status(folder + "/remora").permissions(),
            std::filesystem::perms(0700));
  ChildProcess ping({std::string(REMORA_BIN_DIR) + "/remora", "ping", "--count", "1"}, environment);
  EXPECT_EQ(ping.wait().code, 0) << ping.errors();
  worker.send_signal(SIGTERM);
  worker.wait();
  std::filesystem::remove_all(folder);
}

TEST(Lifecycle, what_may_not_be_served_is_refused_at_start) {
  EXPECT_THAT(refusal({"--listen", "127.0.0.1:0"}).errors, HasSubstr("--token-file"));
  EXPECT_THAT(refusal({"--listen", "0.0.0.0:0"}).errors, HasSubstr("--tls-cert"));
  EXPECT_THAT(refusal({"--devices", "cpu:70000"}).errors, HasSubstr("--devices: "));
  EXPECT_THAT(refusal({"--devices", "cuda"}).errors, HasSubstr("no cuda backend"));
  EXPECT_THAT(refusal({"--listen", "nonsense"}).errors, HasSubstr("unix:PATH"));
}

TEST(Lifecycle, the_log_has_a_line_for_each_session) {
  WorkerProcess worker;
  {
    RawClient client(worker);
    RawSession session(client);
    EXPECT_TRUE(session.close().ok());
    RawSession broken(client, /*hello=*/false);
    broken.send();
    EXPECT_FALSE(broken.status().ok());
  }
  worker.terminate();
  EXPECT_THAT(worker.log(), HasSubstr("session 1 of 'local' opened: client 'raw_session'"));
  EXPECT_THAT(worker.log(),
              HasSubstr("session 1 of 'local' ended: client 'raw_session': closed by the client"));
  EXPECT_THAT(worker.log(), HasSubstr("session 2 of 'local' ended"));
  EXPECT_THAT(worker.log(), HasSubstr("connection from unix process"));
}

}  // namespace
}  // namespace remora::test
