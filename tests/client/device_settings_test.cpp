// What a worker prescribes for its devices, what a program says instead, and what follows.
#if REMORA_CPU && REMORA_REMOTE
#include "tests/client/device.h"
#include "tests/support/worker_process.h"

namespace remora {
namespace {

class WorkerSettings : public testing::Test {
 protected:
  Device device() const { return Device::parse(worker_.device()); }

 private:
  test::WorkerProcess worker_{{.flags = {"--settings", "float=f64,int=i32,tf32=on"}}};
};

TEST_F(WorkerSettings, settings_of_a_worker) {
  const DeviceSettings settings = device_settings(device());
  EXPECT_EQ(settings.str(), "float=f64,int=i32,bool=bool,tf32=on,deterministic=off");
  EXPECT_EQ(zeros({2}, device()).dtype(), DType::kF64);
  EXPECT_EQ(eye(2, 2, device()).dtype(), DType::kF64);
  EXPECT_EQ(linspace(0, 1, 3, device()).dtype(), DType::kF64);
  EXPECT_EQ(uniform({2}, device(), 1.0, 2.0).dtype(), DType::kF64);
  EXPECT_EQ(normal({2}, device()).dtype(), DType::kF64);
  EXPECT_EQ(hann_window(4, true, device()).dtype(), DType::kF64);
  EXPECT_EQ(arange(0, 3, 1, device()).dtype(), DType::kI32);
  EXPECT_EQ(arange(0, 3, 0.5, device()).dtype(), DType::kF64);
  EXPECT_EQ(arange(0, 3, 1, device(), DType::kI64).dtype(), DType::kI64);
  EXPECT_EQ(zeros({2}, device(), DType::kF32).dtype(), DType::kF32);
  EXPECT_EQ(from_data({0.1}, {1}, device()).dtype(), DType::kF64);
  EXPECT_EQ(from_data({0.1}, {1}, device()).item<double>(), 0.1);
  EXPECT_EQ(from_data({1, 2}, {2}, device()).dtype(), DType::kI32);
  EXPECT_EQ((from_data({1, 2}, {2}, device()) / 2).dtype(), DType::kF64);
  EXPECT_EQ((from_data({1, 2}, {2}, device()) + 0.5).dtype(), DType::kF64);
  EXPECT_EQ((from_data(std::vector<float>{1}, {1}, device()) + 0.5).dtype(), DType::kF32);
}

TEST_F(WorkerSettings, what_indexes_is_i64_whatever_is_set) {
  const Tensor x = from_data({3.0, 1.0, 2.0}, {3}, device());
  EXPECT_EQ(argsort(x).dtype(), DType::kI64);
  EXPECT_EQ(randperm(4, device()).dtype(), DType::kI64);
  EXPECT_EQ(one_hot(arange(0, 3, 1, device(), DType::kI64), 3).dtype(), DType::kI64);
  EXPECT_EQ(tril(ones({3, 3}, device())).to_vector<double>()[1], 0.0);
  EXPECT_EQ(nonzero(x > 1.5).to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
}

TEST_F(WorkerSettings, a_program_overrides_its_workers_settings) {
  set_device_settings(device(), {.float_dtype = DType::kF16});
  EXPECT_EQ(device_settings(device()).str(),
            "float=f16,int=i64,bool=bool,tf32=off,deterministic=off");
  EXPECT_EQ(ones({2}, device()).dtype(), DType::kF16);
  EXPECT_EQ(from_data({0.5}, {1}, device()).item<float>(), 0.5F);
  expect_error(absl::StatusCode::kFailedPrecondition, "set once",
               [&] { set_device_settings(device(), {}); });
  EXPECT_EQ(ones({2}, device()).dtype(), DType::kF16);
}

TEST_F(WorkerSettings, settings_after_first_tensor_refused) {
  (void)ones({2}, device());
  expect_error(absl::StatusCode::kFailedPrecondition, "before the first",
               [&] { set_device_settings(device(), {}); });
}

TEST(DeviceSettingsHere, settings_take_effect_on_a_local_device) {
  // In a process of its own, whose first tensor this is.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        set_device_settings(Device::cpu(), {.float_dtype = DType::kBF16, .int_dtype = DType::kU8});
        const bool right = zeros({1}, Device::cpu()).dtype() == DType::kBF16 &&
                           arange(0, 2, 1, Device::cpu()).dtype() == DType::kU8 &&
                           (arange(0, 2, 1, Device::cpu()) * 0.5).dtype() == DType::kBF16;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace remora
#endif
