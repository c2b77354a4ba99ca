// Files and tensors on every device of this machine, and through a worker.
#include "client/io/tensor_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "client/io/safetensors_file.h"
#include "client/nn/activations.h"
#include "client/nn/layers.h"
#include "client/ops.h"
#include "dispatch/backend.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "tests/io/format_cases.h"
#include "tests/support/device_variants.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/worker_process.h"

namespace remora::io {
namespace {

absl::Status error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

class TensorFiles : public test::OnEveryDevice {
 protected:
  bool has(DType dtype) const {
    return device().state().backend().supports(dispatch::OpCode::full, dtype);
  }
  /// A tensor of every element type that the device has.
  TensorMap tensors() const {
    TensorMap map;
    for (const DType dtype : all_dtypes()) {
      if (!has(dtype)) continue;
      map.add(std::string(dtype_name(dtype)), from_host(random_data(dtype, {2, 3}, 5), device()));
    }
    map.add("scalar", from_host(random_data(DType::kF32, {}, 6), device()));
    map.add("empty", from_host(random_data(DType::kF32, {0, 4}, 6), device()));
    return map;
  }
  static void expect_equal(const TensorMap& actual, const TensorMap& expected) {
    EXPECT_EQ(actual.size(), expected.size());
    for (const auto& [name, tensor] : expected) {
      SCOPED_TRACE(name);
      expect_same(actual.at(name).read_async().get(), tensor.read_async().get());
    }
  }
  test::TemporaryFolder folder_;
};
REMORA_ON_EVERY_DEVICE(TensorFiles);

TEST_P(TensorFiles, SafetensorsBringTensorsAndMetadataBack) {
  save(folder_ / "x", tensors(), {{"epoch", "3"}});
  expect_equal(load(folder_ / "x", device()), tensors());
  EXPECT_EQ(load_metadata(folder_ / "x"), (Metadata{{"epoch", "3"}}));
}

TEST_P(TensorFiles, NumpyFilesBringTensorsBack) {
  TensorMap map;
  for (const auto& [name, tensor] : tensors()) {
    if (tensor.dtype() == DType::kBF16) continue;
    map.add(name, tensor);
    save_npy(folder_ / "x", tensor);
    expect_same(load_npy(folder_ / "x", device()).read_async().get(), tensor.read_async().get());
  }
  for (const bool compress : {false, true}) {
    save_npz(folder_ / "x", map, {.compress = compress});
    expect_equal(load_npz(folder_ / "x", device()), map);
  }
}

TEST_P(TensorFiles, LoadedTensorsJoinTheDevicesContext) {
  save(folder_ / "x", tensors());
  EXPECT_TRUE(load(folder_ / "x", device().autodiff()).at("f32").context().enabled);
}

TEST_P(TensorFiles, AModuleComesBackFromItsFile) {
  nn::Sequential model(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2));
  model.to(device());
  save(folder_ / "x", model.state_dict());
  nn::Sequential other(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2));
  other.load_state_dict(load(folder_ / "x", device()));
  const Tensor x = uniform({5, 3}, device());
  EXPECT_EQ(model(x).to_vector<float>(), other(x).to_vector<float>());
}

TEST_P(TensorFiles, AMapLongerThanEveryQueueIsSaved) {
  constexpr int kCount = 5000;
  TensorMap map;
  for (int i = 0; i < kCount; ++i) map.add(std::to_string(i), full({2}, i, device()));
  save(folder_ / "x", map);
  const TensorMap loaded = load(folder_ / "x", device());
  ASSERT_EQ(loaded.size(), map.size());
  EXPECT_EQ(loaded.at("4999").to_vector<float>(), std::vector<float>(2, 4999));
}

TEST_P(TensorFiles, AnElementTypeThatTheDeviceLacksIsNamedWithFileAndTensor) {
  int lacking = 0;
  for (const DType dtype : all_dtypes()) {
    if (has(dtype)) continue;
    ++lacking;
    const std::string name(dtype_name(dtype));
    throw_if_error(write_safetensors(folder_ / "x", {{"layer", random_data(dtype, {2}, 1)}}, {}));
    const absl::Status status = error_of([&] { load(folder_ / "x", device()); });
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    const std::string prefix =
        "load: " + (folder_ / "x").string() + ": tensor \"layer\": " + name + " ";
    EXPECT_EQ(std::string(status.message()).find(prefix), 0U) << status;
  }
  if (lacking == 0) GTEST_SKIP() << "this device has every element type";
}

TEST_P(TensorFiles, ATensorThatFailedIsNamedAndTheOldFileStays) {
  const auto path = folder_.write("x", "old");
  const Tensor bad = index_select(zeros({2}, device()), 0, from_data({7}, {1}, device()));
  const absl::Status status = error_of([&] {
    save(path, {{"good", zeros({1}, device())}, {"bad", bad}});
  });
  EXPECT_NE(std::string(status.message()).find(path.string() + ": tensor \"bad\": "),
            std::string::npos)
      << status;
  EXPECT_NE(error_of([&] {
              save(path, {{"none", Tensor()}});
            })
                .message()
                .find("tensor \"none\""),
            std::string::npos);
  EXPECT_EQ(test::bytes_of(path), "old");
  EXPECT_EQ(folder_.size(), 1U);
}

TEST_P(TensorFiles, ErrorsNameTheFunctionAndThePath) {
  const std::string path = folder_.write("x", "nonsense").string();
  const Device on = device();
  const auto expect_prefix = [&](const std::string& function, const std::function<void()>& call) {
    const absl::Status status = error_of(call);
    EXPECT_EQ(std::string(status.message()).find(function + ": " + path + ": "), 0U) << status;
  };
  expect_prefix("load", [&] { load(path, on); });
  expect_prefix("load_metadata", [&] { load_metadata(path); });
  expect_prefix("load_npy", [&] { load_npy(path, on); });
  expect_prefix("load_npz", [&] { load_npz(path, on); });
  expect_prefix("load_idx", [&] { load_idx(path, on); });
}

#if REMORA_REMOTE
TEST(SavingAMap, AsksForEveryTensorBeforeItWaitsForOne) {
  test::WorkerProcess worker;
  const Device device = Device::parse(worker.device());
  constexpr int kCount = 50;
  TensorMap map;
  for (int i = 0; i < kCount; ++i) map.add(std::to_string(i), full({10}, i, device));
  device.synchronize();
  const auto reads = [&] { return device.state().stats().wire.round_trips; };
  const uint64_t before = reads();
  const test::TemporaryFolder folder;
  // A worker that stands still answers nothing.
  kill(worker.pid(), SIGSTOP);
  std::thread saver([&] { save(folder / "x", map); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (reads() - before < kCount && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(reads() - before, static_cast<uint64_t>(kCount));
  kill(worker.pid(), SIGCONT);
  saver.join();
  EXPECT_EQ(load(folder / "x", device).at("49").to_vector<float>(), std::vector<float>(10, 49));
}
#endif

}  // namespace
}  // namespace remora::io
