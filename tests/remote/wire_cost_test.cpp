#include "client/ops.h"
#include "client/remote/session.h"
#include "client/tensor.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

struct Cost {
  dispatch::WireStats before;
  const Device& device;
  explicit Cost(const Device& device_in) : before(wire_stats(device_in)), device(device_in) {}
  dispatch::WireStats spent() const {
    dispatch::WireStats now = wire_stats(device);
    now.frames_sent -= before.frames_sent;
    now.bytes_sent -= before.bytes_sent;
    now.round_trips -= before.round_trips;
    now.graphs_defined -= before.graphs_defined;
    return now;
  }
};

/// Waits for the worker by one sync record, without the flush of Device::synchronize, which may
/// send drops alone.
void sync_session(const Device& device) { throw_if_error(device.state().backend().synchronize()); }

TEST(WireCost, a_repeated_window_is_one_frame_of_at_most_64_bytes_beside_its_host_data) {
  TokenWorker worker;
  const Device device = worker.device();
  std::vector<Tensor> parameters;
  parameters.reserve(10);
  for (int i = 0; i < 10; ++i) parameters.push_back(full({16}, static_cast<double>(i), device));
  const size_t batch_bytes = 16 * sizeof(float);
  const auto step = [&](int number) {
    const Tensor batch = from_data(ramp(16, static_cast<float>(number)), {16}, device);
    for (Tensor& parameter : parameters) parameter = parameter * 0.9 + batch * 0.1;
    device.flush();
  };
  constexpr int kWarmSteps = 5;
  constexpr int kSteps = 15;
  for (int number = 0; number < kWarmSteps; ++number) step(number);
  device.synchronize();
  const Cost cost(device);
  for (int number = 0; number < kSteps; ++number) step(kWarmSteps + number);
  // What was sent is counted once it is sent, for which this waits: by a sync, before which drops
  // may go alone.
  device.synchronize();
  const dispatch::WireStats spent = cost.spent();
  EXPECT_LE(spent.frames_sent, kSteps + 2u);
  EXPECT_GE(spent.bytes_sent, kSteps * batch_bytes);
  EXPECT_LE(spent.bytes_sent, kSteps * (64u + batch_bytes) + 2 * 32u);
  EXPECT_EQ(spent.round_trips, 1u);
  EXPECT_EQ(spent.graphs_defined, 0u);
}

TEST(WireCost, an_add_and_its_read_are_one_frame) {
  TokenWorker worker;
  const Device device = worker.device();
  const Tensor a = from_data({1.0f, 2.0f}, {2}, device);
  for (int i = 0; i < 3; ++i) (void)(a + a).to_vector<float>();
  const Cost cost(device);
  EXPECT_EQ((a + a).to_vector<float>(), (std::vector<float>{2.0f, 4.0f}));
  EXPECT_EQ(cost.spent().frames_sent, 1u);
  EXPECT_LE(cost.spent().bytes_sent, 32u);
  EXPECT_EQ(cost.spent().round_trips, 1u);
}

TEST(WireCost, alternating_graphs_are_defined_once_each) {
  TokenWorker worker;
  const Device device = worker.device();
  const Tensor a = from_data(ramp(8), {8}, device);
  const auto run_graph = [&](int length) {
    Tensor x = a;
    for (int i = 0; i < length; ++i) x = x + a;
    (void)x.to_vector<float>();
  };
  for (int round = 0; round < 2; ++round) {
    for (int length = 1; length <= 8; ++length) run_graph(length);
  }
  const Cost cost(device);
  for (int round = 0; round < 5; ++round) {
    for (int length = 1; length <= 8; ++length) run_graph(length);
  }
  EXPECT_EQ(cost.spent().graphs_defined, 0u);
  EXPECT_LE(cost.spent().bytes_sent, 40u * 32u);
}

TEST(WireCost, host_data_that_nothing_uses_is_never_sent) {
  TokenWorker worker;
  const Device device = worker.device();
  device.synchronize();
  const Cost cost(device);
  for (int i = 0; i < 100; ++i) (void)from_data(ramp(1000), {1000}, device);
  sync_session(device);
  EXPECT_LE(cost.spent().bytes_sent, 32u);
}

TEST(WireCost, drops_ride_on_the_next_frame) {
  TokenWorker worker;
  const Device device = worker.device();
  std::vector<Tensor> tensors;
  tensors.reserve(50);
  for (int i = 0; i < 50; ++i) tensors.push_back(full({4}, static_cast<double>(i), device));
  device.synchronize();
  const Cost cost(device);
  tensors.clear();
  EXPECT_EQ(cost.spent().frames_sent, 0u);
  sync_session(device);
  EXPECT_EQ(cost.spent().frames_sent, 1u);
  EXPECT_LE(cost.spent().bytes_sent, 32u);  // 50 neighbours are one run length
}

}  // namespace
}  // namespace remora::remote
