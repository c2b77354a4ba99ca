#include "client/cli/bench_wire.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "client/cli/exit_codes.h"
#include "client/cli/figures.h"
#include "client/ops.h"
#include "client/remote/echo.h"
#include "client/remote/private_worker.h"
#include "client/remote/worker_connection.h"
#include "client/tensor.h"
#include "dispatch/device_state.h"
#include "dispatch/device_text.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::cli {
namespace {

constexpr int kPingsPerRound = 200;
constexpr int kEagerOps = 10'000;
/// About what a session's frame for one small run and a read takes.
constexpr size_t kEchoBytes = 64;

using Clock = std::chrono::steady_clock;

/// The echo server in a process of its own: this program again. Ends when it is destroyed.
class EchoProcess {
 public:
  static absl::StatusOr<std::unique_ptr<EchoProcess>> start() {
    auto process = std::make_unique<EchoProcess>();
    REMORA_RETURN_IF_ERROR(process->launch());
    return process;
  }
  ~EchoProcess() {
    if (input_ >= 0) close(input_);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  const std::string& address() const { return address_; }

 private:
  absl::Status launch() {
    int to_child[2];
    int from_child[2];
    if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) {
      return absl::UnavailableError("echo: no pipe");
    }
    input_ = to_child[1];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from_child[1], STDOUT_FILENO);
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string command = "echo-server";
    char* const arguments[] = {program.data(), command.data(), nullptr};
    const int failed = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to_child[0]);
    close(from_child[1]);
    if (failed != 0) pid_ = -1;
    std::string line;
    for (char c = 0; failed == 0 && read(from_child[0], &c, 1) == 1 && c != '\n';)
      line.push_back(c);
    close(from_child[0]);
    if (line.empty()) return absl::UnavailableError("echo: the server did not start");
    address_ = line;
    return absl::OkStatus();
  }

  pid_t pid_ = -1;
  int input_ = -1;
  std::string address_;
};

/// Median time of `kPingsPerRound` calls.
template <typename Call>
double median_us(Call call) {
  std::vector<double> times;
  times.reserve(kPingsPerRound);
  for (int i = 0; i < kPingsPerRound; ++i) {
    const auto begin = Clock::now();
    call();
    times.push_back(microseconds_since(begin));
  }
  return median(std::move(times));
}

/// Adds four floats on a worker and reads them, again and again.
class AddAndRead {
 public:
  explicit AddAndRead(const Device& device)
      : a_(from_data({1.0f, 2.0f, 3.0f, 4.0f}, {4}, device)),
        b_(from_data({10.0f, 20.0f, 30.0f, 40.0f}, {4}, device)) {}
  void operator()() const {
    if ((a_ + b_).to_vector<float>()[3] != 44.0f) {
      throw Error(absl::DataLossError("bench wire: 4 + 40 is not 44 on the worker"));
    }
  }

 private:
  const Tensor a_;
  const Tensor b_;
};

void measure_eager(const Device& device, Figures& figures) {
  const Tensor one = from_data({1.0f, 1.0f, 1.0f, 1.0f}, {4}, device);
  Tensor x = one;
  (void)x.to_vector<float>();
  const dispatch::WireStats before = device.state().stats().wire;
  const auto begin = Clock::now();
  for (int i = 0; i < kEagerOps; ++i) x = x + one;
  const double recorded_us = microseconds_since(begin);
  const float result = x.to_vector<float>()[0];
  const double total_us = microseconds_since(begin);
  const dispatch::WireStats after = device.state().stats().wire;
  if (result != static_cast<float>(kEagerOps + 1)) {
    throw Error(absl::DataLossError(str_cat("bench wire: the sum is ", result, " on the worker")));
  }
  const auto bytes =
      after.bytes_sent + after.bytes_received - before.bytes_sent - before.bytes_received;
  figures.add("eager_us_per_op", total_us / kEagerOps);
  figures.add("eager_caller_ns_per_op", recorded_us * 1000.0 / kEagerOps);
  figures.add("eager_wire_bytes_per_op", static_cast<double>(bytes) / kEagerOps);
}

/// One worker to measure: where it is, and under which key.
struct Target {
  std::string key;
  Device device;
};

void measure(const BenchWireOptions& options, const std::vector<Target>& targets,
             remote::EchoClient& echo, Figures& figures) {
  std::vector<AddAndRead> calls;
  calls.reserve(targets.size());
  for (const Target& target : targets) calls.emplace_back(target.device);
  const auto echo_call = [&] { throw_if_error(echo.round_trip(kEchoBytes)); };
  // The first round warms up: connections, plans, caches.
  for (int round = -1; round < options.rounds; ++round) {
    const double floor_us = median_us(echo_call);
    if (round >= 0) figures.add("grpc_floor_us", floor_us);
    for (size_t i = 0; i < targets.size(); ++i) {
      const double rtt_us = median_us(calls[i]);
      if (round >= 0) figures.add(targets[i].key, rtt_us);
    }
    Figures warm_up;
    measure_eager(targets.front().device, round >= 0 ? figures : warm_up);
  }
}

}  // namespace

int bench_wire(const BenchWireOptions& options) {
  std::vector<std::unique_ptr<remote::PrivateWorker>> workers;
  std::vector<Target> targets;
  if (!options.worker.empty()) {
    remote::set_remote_options(options.worker, options_of(options.worker, options.credentials));
    const bool is_unix = options.worker.starts_with("unix:");
    targets.push_back(
        {is_unix ? "rtt_add4_unix_us" : "rtt_add4_tcp_us", Device::remote(options.worker)});
  } else {
    for (const auto& [key, listen] :
         {std::pair("rtt_add4_tcp_us", "127.0.0.1:0"), std::pair("rtt_add4_unix_us", "")}) {
      workers.push_back(value_or_throw(
          remote::PrivateWorker::start({.listen = listen, .arguments = {"--devices", "cpu"}})));
      targets.push_back({key, Device::remote(workers.back()->address())});
    }
  }
  const auto echo_server = value_or_throw(EchoProcess::start());
  const auto echo = value_or_throw(remote::EchoClient::open(echo_server->address()));
  Figures figures;
  measure(options, targets, *echo, figures);
  const std::string device = targets.front().device.str();
  std::printf("%s\n", options.json ? figures.json("wire", device).c_str() : figures.text().c_str());
  for (const Target& target : targets) remote::disconnect(target.device.identity().endpoint);
  return kOk;
}

int serve_echo() {
  const auto server = value_or_throw(remote::EchoServer::start());
  std::printf("%s\n", server->address().c_str());
  std::fflush(stdout);
  for (char c = 0; read(STDIN_FILENO, &c, 1) > 0;) {
  }
  return kOk;
}

}  // namespace remora::cli
