// Ctrl-C in a program that waits for a worker.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "client/ops.h"
#include "client/tensor.h"
#include "tests/remote/remote_fixture.h"
#include "tests/support/child_process.h"

namespace remora::remote {
namespace {

constexpr char kDeviceVariable[] = "REMORA_TEST_WAIT_ON";

Tensor product(const Device& device, int64_t size) {
  Tensor x = full({size, size}, 1.0, device);
  for (int i = 0; i < 200; ++i) x = matmul(x, x) * 1e-3;
  return x;
}

/// The program that is interrupted: this one, where the variable names a device; it runs no test.
class WaitInstead : public testing::Environment {
 public:
  void SetUp() override {
    const char* const text = std::getenv(kDeviceVariable);
    if (text == nullptr) return;
    const Device device = Device::parse(text);
    (void)full({1}, 1.0, device).item<float>();
    std::puts("waiting");
    std::fflush(stdout);
    (void)sum(product(device, 1500)).item<float>();  // minutes
    std::_Exit(1);
  }
};
const testing::Environment* const kWaitInstead =
    testing::AddGlobalTestEnvironment(std::make_unique<WaitInstead>().release());

TEST(RemoteInterrupt, ctrl_c_ends_a_program_that_waits_within_a_second_and_frees_its_session) {
  const test::WorkerProcess worker({.flags = {"--threads", "1"}});
  test::ChildProcess child({"/proc/self/exe"},
                           {std::string(kDeviceVariable) + "=" + worker.device()});
  while (child.read_line() != "waiting") continue;
  const auto begin = std::chrono::steady_clock::now();
  child.send_signal(SIGINT);
  const test::ExitState state = child.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_EQ(state.signal, SIGINT);
  // Its session ends with it: the worker says so without being asked.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (worker.log().find("session 1 of 'local' ended") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << worker.log();
  }
}

}  // namespace
}  // namespace remora::remote
