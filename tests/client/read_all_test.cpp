// Several tensors read at once, and what a program can ask a device.
#include "dispatch/device_state.h"
#include "tests/client/device.h"
#if REMORA_CPU && REMORA_REMOTE
#include "tests/support/worker_process.h"
#endif

namespace remora {
namespace {

TEST(read_all, gives_each_tensor_and_keeps_errors_apart) {
  const Tensor x = floats({1, 2, 3}, {3});
  const Tensor broken = gather(x, 0, integers({7}, {1}));
  const std::vector<ReadFuture> read = read_all({x * 2, broken + 1, sum(x), x > 1.5, x});
  ASSERT_EQ(read.size(), 5U);
  EXPECT_EQ(read[0].to_vector<float>(), (std::vector<float>{2, 4, 6}));
  expect_error(absl::StatusCode::kInvalidArgument, "index 7", [&] { read[1].get(); });
  EXPECT_EQ(read[2].item<float>(), 6);
  EXPECT_EQ(read[3].to_vector<bool>(), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(read[4].to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(read_all(std::span<const Tensor>()).empty());
  expect_error(absl::StatusCode::kFailedPrecondition, "never given a value", [&] {
    read_all({x, Tensor()});
  });
}

TEST(device, says_what_it_is_and_what_it_holds) {
  const Device device = Device::cpu();
  EXPECT_NE(device.info().name.find("cpu:0"), std::string::npos);
  EXPECT_FALSE(device.info().fingerprint.empty());
  const int64_t before = device.memory().live_bytes;
  {
    const Tensor held = ones({1000, 1000}, device) + 1;
    device.synchronize();
    EXPECT_GE(device.memory().live_bytes, before + 4'000'000);
    EXPECT_LE(device.memory().live_bytes, device.memory().limit_bytes);
  }
  device.synchronize();
  EXPECT_LT(device.memory().live_bytes, before + 4'000'000);
  EXPECT_GT(device.memory().cached_bytes, 0);
  device.trim();
  EXPECT_EQ(device.memory().cached_bytes, 0);
}

#if REMORA_CPU && REMORA_REMOTE
class FarReads : public testing::Test {
 protected:
  Device far() const { return Device::parse(worker_.device()); }
  dispatch::WireStats wire() const { return far().state().stats().wire; }

 private:
  test::WorkerProcess worker_;
};

TEST_F(FarReads, read_all_is_one_round_trip_in_one_frame) {
  std::vector<Tensor> tensors;
  tensors.reserve(20);
  for (int i = 0; i < 20; ++i) tensors.push_back(full({4}, i, far()));
  far().synchronize();
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> doubled;
    doubled.reserve(tensors.size());
    for (const Tensor& tensor : tensors) doubled.push_back(tensor * 2);
    const dispatch::WireStats before = wire();
    const std::vector<ReadFuture> read = read_all(doubled);
    for (int i = 0; i < 20; ++i) {
      const auto expected = static_cast<float>(2 * i);
      EXPECT_EQ(read[static_cast<size_t>(i)].to_vector<float>(), std::vector<float>(4, expected));
    }
    EXPECT_EQ(wire().round_trips - before.round_trips, 1U);
    EXPECT_EQ(wire().frames_sent - before.frames_sent, 1U);  // the products and the reads
  }
}

TEST_F(FarReads, read_all_waits_for_uploads_and_moves) {
  const std::vector<float> large(100'000, 3.0F);  // by the bulk plane
  const Tensor uploaded = from_data(large, {100'000}, far());
  const Tensor moved = (from_data(large, {100'000}, Device::cpu()) * 2).to(far());
  const Tensor near = ones({2}, Device::cpu());
  const std::vector<ReadFuture> read = read_all({uploaded, moved, near, sum(uploaded)});
  EXPECT_EQ(read[0].to_vector<float>(), large);
  EXPECT_EQ(read[1].to_vector<float>()[99'999], 6);
  EXPECT_EQ(read[2].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(read[3].item<float>(), 300'000);
}

TEST_F(FarReads, a_read_async_that_nobody_looks_at_waits_for_nothing) {
  const Tensor x = full({4}, 2, far());
  const ReadFuture early = (x * 3).read_async();
  const ReadFuture late = (x * 4).read_async();
  EXPECT_EQ(late.to_vector<float>(), std::vector<float>(4, 8));
  EXPECT_EQ(early.to_vector<float>(), std::vector<float>(4, 6));
}

TEST_F(FarReads, a_worker_that_died_is_said_by_every_tensor) {
  auto worker = std::make_unique<test::WorkerProcess>();
  const Device device = Device::parse(worker->device());
  const Tensor x = full({4}, 2, device);
  x.to_vector<float>();
  worker.reset();
  const std::vector<ReadFuture> read = read_all({x, x + 1});
  for (const ReadFuture& future : read) {
    expect_error(absl::StatusCode::kUnavailable, "", [&] { future.get(); });
  }
}

TEST_F(FarReads, asking_a_device_about_itself_asks_no_worker) {
  const Tensor held = full({1000}, 1, far()) + 1;
  far().synchronize();
  const dispatch::WireStats before = wire();
  EXPECT_EQ(far().info().fingerprint, Device::cpu().info().fingerprint);
  EXPECT_GE(far().memory().live_bytes, 4000);
  EXPECT_GT(far().memory().limit_bytes, 0);
  far().trim();
  EXPECT_EQ(wire().round_trips, before.round_trips);
  EXPECT_EQ(wire().frames_sent, before.frames_sent);
  far().synchronize();
  EXPECT_EQ(wire().round_trips, before.round_trips + 1);
}
#endif

}  // namespace
}  // namespace remora
