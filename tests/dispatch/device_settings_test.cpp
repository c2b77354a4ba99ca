#include "dispatch/device_settings.h"

#include <thread>

#include "dispatch/graph.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kTooLate = absl::StatusCode::kFailedPrecondition;

/// A device that no other test has.
class DeviceSettingsTest : public testing::Test {
 protected:
  DeviceState device_{Device::cpu(), std::make_unique<NullBackend>("null")};
  const DeviceSettings wide_{.float_dtype = DType::kF64, .int_dtype = DType::kI32, .tf32 = true};
};

TEST_F(DeviceSettingsTest, settings_default) {
  EXPECT_EQ(device_.settings().str(), "float=f32,int=i64,bool=bool,tf32=off,deterministic=off");
  EXPECT_EQ(device_.fixed_settings(), DeviceSettings());
  EXPECT_EQ(numeric_bits(DeviceSettings()), 0);
}

TEST_F(DeviceSettingsTest, settings_set) {
  ASSERT_TRUE(device_.set_settings(wide_).ok());
  EXPECT_EQ(device_.settings(), wide_);
  EXPECT_EQ(device_.fixed_settings(), wide_);
}

TEST_F(DeviceSettingsTest, what_is_no_setting_is_refused_and_can_be_put_right) {
  EXPECT_TRUE(fails_with(device_.set_settings({.float_dtype = DType::kI64}), kInvalid,
                         {"float=i64", "no float"}));
  EXPECT_TRUE(fails_with(device_.set_settings({.int_dtype = DType::kBool}), kInvalid,
                         {"int=bool", "no integer"}));
  EXPECT_TRUE(fails_with(device_.set_settings({.bool_dtype = DType::kU8}), kInvalid, {"bool=u8"}));
  EXPECT_TRUE(fails_with(
      error_of([] { set_device_settings(Device::cpu(1), {.float_dtype = DType::kF64}); }),
      absl::StatusCode::kUnimplemented, {"f64", "cpu:1"}));
  EXPECT_TRUE(device_.set_settings(wide_).ok());
}

TEST_F(DeviceSettingsTest, settings_per_device) {
  DeviceState other(Device::cpu(), std::make_unique<NullBackend>("null"));
  ASSERT_TRUE(device_.set_settings(wide_).ok());
  EXPECT_EQ(other.fixed_settings(), DeviceSettings());
  EXPECT_EQ(device_.fixed_settings(), wide_);
}

TEST_F(DeviceSettingsTest, settings_per_kind) {
  // In a process of its own: what is set for a kind stays.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const DeviceSettings of_kind{.deterministic = true};
        const DeviceSettings own{.tf32 = true};
        set_device_settings(Device::cpu(1), own);
        set_device_settings(BackendKind::kCpu, of_kind);
        const bool seen = device_settings(Device::cpu()) == of_kind &&
                          device_settings(Device::cpu(1)) == own &&
                          device_settings(Device::vulkan()) == DeviceSettings();
        const absl::Status again = error_of([&] { set_device_settings(BackendKind::kCpu, own); });
        std::fprintf(stderr, "%s\n", std::string(again.message()).c_str());
        std::_Exit(seen && again.code() == kTooLate ? 0 : 1);
      },
      testing::ExitedWithCode(0), "every cpu device were set before");
}

TEST_F(DeviceSettingsTest, settings_after_first_tensor_refused) {
  (void)floats(Device::cpu(), {1});
  EXPECT_TRUE(fails_with(error_of([] { set_device_settings(Device::cpu(), {.tf32 = true}); }),
                         kTooLate, {"cpu", "before the first"}));
  EXPECT_TRUE(fails_with(error_of([] { set_device_settings(BackendKind::kCpu, {.tf32 = true}); }),
                         kTooLate, {"cpu", "before the first"}));
  (void)numbers(filled(Device::vulkan(), {1}, 1.0));
  EXPECT_EQ(error_of([] { set_device_settings(Device::vulkan(), {}); }).code(), kTooLate);
}

TEST_F(DeviceSettingsTest, settings_second_set_refused) {
  ASSERT_TRUE(device_.set_settings(wide_).ok());
  EXPECT_TRUE(fails_with(device_.set_settings(wide_), kTooLate, {"cpu", "set once"}));
  EXPECT_EQ(device_.settings(), wide_);
}

TEST_F(DeviceSettingsTest, settings_seen_from_every_thread) {
  std::vector<DeviceSettings> seen(8);
  std::vector<std::thread> threads;
  absl::Status set;
  std::thread setter([&] { set = device_.set_settings(wide_); });
  threads.reserve(seen.size());
  for (DeviceSettings& each : seen) {
    threads.emplace_back([&] { each = device_.fixed_settings(); });
  }
  setter.join();
  for (std::thread& thread : threads) thread.join();
  // Whether the setter came first or not: all saw the same, and it was told.
  for (const DeviceSettings& each : seen) EXPECT_EQ(each, set.ok() ? wide_ : DeviceSettings());
}

TEST_F(DeviceSettingsTest, texts_parse_back_and_mistakes_say_what_is_allowed) {
  for (const DeviceSettings& settings : {wide_, DeviceSettings{}}) {
    EXPECT_EQ(*parse_device_settings(settings.str()), settings);
  }
  EXPECT_EQ(parse_device_settings("tf32=on")->float_dtype, DType::kF32);
  for (const char* text : {"float", "float=", "float=i64", "int=f32", "tf32=yes", "colour=red", ",",
                           "bool=u8", "=", "float=f32;int=i64"}) {
    EXPECT_TRUE(fails_with(parse_device_settings(text).status(), kInvalid,
                           {"device settings", "deterministic=on|off"}))
        << text;
  }
}

TEST_F(DeviceSettingsTest, numeric_settings_are_part_of_the_key) {
  const auto graph_under = [](uint8_t settings) {
    GraphBuilder builder(settings);
    builder.add_op(op_info(OpCode::full), {}, FullAttrs{}, std::vector{Spec{DType::kF32, {}}});
    std::vector<uint64_t> params;
    return builder.finish(params);
  };
  const GraphPtr plain = graph_under(0);
  const GraphPtr tf32 = graph_under(kTf32Bit);
  EXPECT_NE(plain->key, tf32->key);
  const auto decoded = decode_graph(tf32->key, {16, 16});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ((*decoded)->settings, kTf32Bit);
  EXPECT_EQ((*decoded)->key, tf32->key);
  EXPECT_EQ(single_op_graph(tf32->ops[0], *tf32)->settings, kTf32Bit);
}

TEST_F(DeviceSettingsTest, windows_run_under_the_devices_settings) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const Device device = Device::cpu(1);
        set_device_settings(device, {.tf32 = true, .deterministic = true});
        int right = 0;
        const ScopedHooks hooks(device, {.before_run = [&](const Graph& graph, const RunRequest&) {
                                  right += graph.settings == kNumericBits;
                                }});
        for (int i = 0; i < 2; ++i) (void)numbers(op(OpCode::neg, {floats(device, {1})}));
        std::_Exit(right == 2 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace remora::test
