// A data set on a device: the batches of a host loader, and what a training step over it costs.
#include "dispatch/device_state.h"
#include "tests/client/device.h"
#if REMORA_CPU && REMORA_REMOTE
#include "tests/support/worker_process.h"
#endif

namespace remora {
namespace {

using data::ResidentDataset;
using data::ResidentLoader;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<float> pixels(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 37 % 256));
  return values;
}
std::vector<int64_t> classes(int64_t count) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(i % 4);
  return values;
}

ResidentDataset resident(int64_t count, const Device& device) {
  return {from_data(pixels(count * 36), {count, 1, 6, 6}, device),
          from_data(classes(count), {count}, device)};
}

TEST(resident, batches_are_those_of_a_host_loader) {
  constexpr int64_t kCount = 23;
  const data::TensorDataset host(pixels(kCount * 36), {1, 6, 6}, classes(kCount));
  for (const bool shuffle : {false, true}) {
    for (const bool drop_last : {false, true}) {
      const data::LoaderOptions options{
          .batch_size = 5, .shuffle = shuffle, .seed = 3, .drop_last = drop_last};
      data::DataLoader far(host, options, test_device());
      ResidentLoader near(resident(kCount, test_device()), options);
      ASSERT_EQ(near.batches(), far.batches());
      for (int epoch = 0; epoch < 2; ++epoch) {
        auto expected = far.begin();
        for (const auto& [inputs, labels] : near) {
          EXPECT_EQ(inputs.shape(), (*expected).inputs.shape());
          EXPECT_EQ(inputs.to_vector<float>(), (*expected).inputs.to_vector<float>());
          EXPECT_EQ(labels.to_vector<int64_t>(), (*expected).labels.to_vector<int64_t>());
          ++expected;
        }
        EXPECT_TRUE(expected == far.end());
      }
    }
  }
}

std::vector<uint8_t> bytes(int64_t count) {
  std::vector<uint8_t> values;
  for (const float value : pixels(count)) values.push_back(static_cast<uint8_t>(value));
  return values;
}

TEST(resident, images_stay_bytes_until_the_model_converts_them) {
  const ResidentDataset data(from_data(bytes(12 * 36), {12, 1, 6, 6}, test_device()),
                             from_data(classes(12), {12}, test_device()));
  ResidentLoader loader(data, {.batch_size = 5, .shuffle = true, .seed = 2});
  ResidentLoader floating(resident(12, test_device()),
                          {.batch_size = 5, .shuffle = true, .seed = 2});
  auto expected = floating.begin();
  for (const auto& [inputs, labels] : loader) {
    EXPECT_EQ(inputs.dtype(), DType::kU8);
    EXPECT_EQ(astype(inputs, DType::kF32).to_vector<float>(),
              (*expected).inputs.to_vector<float>());
    ++expected;
  }
}

TEST(resident, what_does_not_fit_is_refused) {
  expect_error(kInvalid, "inputs [3, 2] and labels [2] do not have as many examples", [] {
    ResidentDataset(zeros({3, 2}, test_device()), zeros({2}, test_device(), DType::kI64));
  });
  expect_error(kInvalid, "ResidentLoader: batch_size is 0",
               [] { ResidentLoader(resident(4, test_device()), {.batch_size = 0}); });
}

struct Trained {
  std::vector<float> losses;
  double wire_bytes_per_step = 0;  // of the last epoch, its beginning included
  uint64_t plan_misses = 0;        // in it
  uint64_t round_trips = 0;
  uint64_t steps = 0;
};

/// Three epochs of a small CNN over a resident data set.
Trained train(const Device& device, int64_t count, int64_t batch) {
  manual_seed(5);
  nn::Sequential model(nn::Conv2d(1, 3, 3), nn::BatchNorm2d(3), nn::ReLU(), nn::MaxPool2d(2),
                       nn::Flatten(), nn::Linear(12, 4));
  model.to(device.autodiff());
  optim::AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
  const ResidentDataset data(from_data(bytes(count * 36), {count, 1, 6, 6}, device),
                             from_data(classes(count), {count}, device));
  ResidentLoader loader(data, {.batch_size = batch, .shuffle = true, .seed = 1, .drop_last = true});
  optim::OneCycleLR schedule(optimizer, 1e-2, 3 * loader.batches());
  Trained result;
  dispatch::DeviceStats before;
  for (int epoch = 0; epoch < 3; ++epoch) {
    device.synchronize();
    before = device.state().stats();
    std::vector<ReadFuture> losses;
    for (const auto& [images, labels] : loader) {
      const Tensor loss = cross_entropy(model(astype(images, DType::kF32) / 255.0), labels);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      schedule.step();
      losses.push_back(loss.read_async());
    }
    for (const ReadFuture& loss : losses) result.losses.push_back(loss.item<float>());
  }
  const dispatch::DeviceStats after = device.state().stats();
  result.steps = static_cast<uint64_t>(loader.batches());
  const uint64_t bytes = after.wire.bytes_sent - before.wire.bytes_sent +
                         after.wire.bytes_received - before.wire.bytes_received;
  result.wire_bytes_per_step = static_cast<double>(bytes) / static_cast<double>(result.steps);
  result.plan_misses = after.plan_misses - before.plan_misses;
  result.round_trips = after.wire.round_trips - before.wire.round_trips;
  return result;
}

#if REMORA_CPU && REMORA_REMOTE
TEST(resident, a_step_sends_no_data_and_trains_bit_for_bit_as_here) {
  test::WorkerProcess worker;
  const Device far = Device::parse(worker.device());
  ASSERT_EQ(far.info().fingerprint, Device::cpu().info().fingerprint);
  constexpr int64_t kCount = 2000;
  constexpr int64_t kBatch = 40;
  const Trained there = train(far, kCount, kBatch);
  // A batch alone would be 1,440 bytes of pixels. The order of an epoch is part of this.
  EXPECT_LE(there.wire_bytes_per_step, 512);
  EXPECT_EQ(there.plan_misses, 0U);
  EXPECT_EQ(there.round_trips, there.steps);  // the losses
  EXPECT_EQ(there.losses, train(Device::cpu(), kCount, kBatch).losses);
}

TEST(resident, inputs_and_labels_must_share_a_device) {
  test::WorkerProcess worker;
  const Device far = Device::parse(worker.device());
  expect_error(kInvalid, "the inputs live on", [&] {
    ResidentDataset(zeros({3, 2}, far), zeros({3}, Device::cpu(), DType::kI64));
  });
}
#endif

}  // namespace
}  // namespace remora
