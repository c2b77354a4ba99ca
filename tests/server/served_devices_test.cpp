// Which devices a worker serves, and how it divides the machine's memory among them.
#include "server/served_devices.h"

#include "gtest/gtest.h"

namespace remora::server {
namespace {

std::vector<ServedDevice> open(int cpus, int64_t limit_bytes = 0) {
  Options options;
  options.threads = 1;
  for (int i = 0; i < cpus; ++i) options.devices.push_back({BackendKind::kCpu, i});
  if (limit_bytes > 0) options.memory_limit_bytes[BackendKind::kCpu] = limit_bytes;
  absl::StatusOr<std::vector<ServedDevice>> devices = open_devices(options);
  EXPECT_TRUE(devices.ok()) << devices.status();
  return devices.ok() ? *std::move(devices) : std::vector<ServedDevice>();
}

TEST(ServedDevices, cpu_devices_share_the_machines_memory) {
  const auto one = open(1);
  const auto two = open(2);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(two.size(), 2u);
  for (const ServedDevice& device : two) {
    EXPECT_EQ(device.description.memory_limit_bytes(), one[0].description.memory_limit_bytes() / 2);
  }
}

TEST(ServedDevices, a_limit_that_is_given_is_each_devices_own) {
  for (const ServedDevice& device : open(2, int64_t{1} << 30)) {
    EXPECT_EQ(device.description.memory_limit_bytes(), uint64_t{1} << 30);
  }
}

TEST(ServedDevices, uploads_have_a_quarter_of_the_limit_and_room_for_one_sessions) {
  EXPECT_EQ(open(1, int64_t{8} << 30).at(0).staging->limit_bytes(), int64_t{2} << 30);
  EXPECT_EQ(open(1, int64_t{512} << 20).at(0).staging->limit_bytes(), int64_t{256} << 20);
  EXPECT_EQ(open(1, int64_t{64} << 20).at(0).staging->limit_bytes(), int64_t{64} << 20);
}

TEST(ServedDevices, an_optional_device_that_cannot_be_opened_is_left_out) {
  Options options;
  options.threads = 1;
  options.devices = {{BackendKind::kCapture, 0, true}, {BackendKind::kCpu, 0}};
  absl::StatusOr<std::vector<ServedDevice>> devices = open_devices(options);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ(devices->at(0).text, "cpu:0");

  options.devices[0].optional = false;
  EXPECT_EQ(open_devices(options).status().code(), absl::StatusCode::kUnimplemented);
  options.devices = {{BackendKind::kCapture, 0, true}};
  EXPECT_EQ(open_devices(options).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace remora::server
