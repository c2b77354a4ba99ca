// The devices of workers as a program finds and names them.
#include <cstdlib>

#include "client/ops.h"
#include "client/tensor.h"
#include "dispatch/automatic_moves.h"
#include "dispatch/device_filter.h"
#include "gmock/gmock.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

/// The same loopback port by another name.
std::string other_name(const std::string& address) {
  return "localhost" + address.substr(address.rfind(':'));
}

RemoteOptions with_token(const std::string& token) {
  RemoteOptions options;
  options.token = token;
  return options;
}

TEST(RemoteDevices, device_ids_same_worker) {
  TokenWorker worker({"--devices", "cpu,cpu"}, /*tcp=*/true);
  const std::string alias = other_name(worker.address());
  set_remote_options(alias, with_token(kToken));
  const Device first = worker.device("cpu");
  const Device second = Device::remote(alias, "cpu");
  const Device whole = Device::remote(alias);
  EXPECT_FALSE(first == second) << "nothing is connected yet";
  (void)first.state();
  EXPECT_EQ(&second.state(), &first.state());
  EXPECT_EQ(second, first);
  EXPECT_EQ(first, second);
  EXPECT_EQ(&whole.state(), &first.state()) << "the worker's default device";
  EXPECT_FALSE(first == worker.device("cpu:1"));
  const Device other = Device::remote(alias, "cpu:1");
  EXPECT_EQ(&other.state(), &worker.device("cpu:1").state());
  EXPECT_FALSE(other == first);

  // One device: nothing has to move, and one session holds it all.
  const uint64_t moved = dispatch::stats().moved_operands;
  const Tensor x = from_data({1.0F}, {1}, first) + from_data({2.0F}, {1}, second);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3.0F}));
  EXPECT_EQ(dispatch::stats().moved_operands, moved);
  EXPECT_EQ(WorkerConnection::at(alias).current(), nullptr);
  EXPECT_EQ(*WorkerConnection::at(alias).session(),
            WorkerConnection::at(worker.address()).current());
  disconnect(alias);
  EXPECT_EQ(error_of([&] { (void)x.to_vector<float>(); }).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((from_data({1.0F}, {1}, second) + 1).to_vector<float>(), (std::vector<float>{2.0F}));
}

TEST(RemoteDevices, another_identity_of_the_same_worker_shares_nothing) {
  test::WorkerProcess worker({.flags = {}, .tcp = true, .token = kToken});
  const std::string alias = other_name(worker.address());
  disconnect(worker.address());
  set_remote_options(worker.address(), with_token(kToken));
  set_remote_options(alias, with_token("not-the-token-of-this-worker"));
  (void)Device::remote(worker.address(), "cpu").state();
  EXPECT_EQ(error_of([&] { (void)Device::remote(alias, "cpu").state(); }).code(),
            absl::StatusCode::kUnauthenticated);
}

TEST(RemoteDevices, enumerate_remote_devices) {
  TokenWorker two({"--devices", "cpu,cpu"});
  TokenWorker one;
  setenv("REMORA_WORKERS", (one.address() + ",127.0.0.1:1," + two.address()).c_str(), 1);
  constexpr auto kCpu = BackendKind::kCpu;
  using Devices = std::vector<Device>;
  const Device single = one.device();
  const Device first = two.device("cpu:0");
  const Device second = two.device("cpu:1");
  EXPECT_EQ(Device::enumerate({BackendKind::kRemote}), (Devices{single, first, second}))
      << "a worker that does not answer has no devices";
  EXPECT_EQ(Device::enumerate({DeviceFilter::remote()}), (Devices{single, first, second}));
  EXPECT_EQ(Device::enumerate({DeviceFilter::remote(two.address(), {kCpu, kCpu}),
                               DeviceFilter::remote(one.address())}),
            (Devices{first, second, first, second, single}));
  EXPECT_EQ(Device::enumerate({DeviceFilter::remote(two.address(), {BackendKind::kCuda})}),
            Devices{});
  EXPECT_EQ(error_of([] { Device::enumerate({DeviceFilter::remote("nowhere")}); }).code(),
            absl::StatusCode::kInvalidArgument);
  unsetenv("REMORA_WORKERS");
}

}  // namespace
}  // namespace remora::remote
