#include "dispatch/registry.h"

#include <cstdlib>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using dispatch::BackendFactory;
using dispatch::DeviceIdentity;
using dispatch::Registry;

/// Sets an environment variable, or unsets it, until it is destroyed.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    set(value);
  }
  ~ScopedVariable() { set(before_.has_value() ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// A kind of which the machine has `count` devices.
BackendFactory null_factory(int count, bool may_be_default = true) {
  return {.open = [](const DeviceIdentity&) -> absl::StatusOr<std::unique_ptr<dispatch::Backend>> {
            return std::make_unique<NullBackend>("null");
          },
          .count = [count]() -> absl::StatusOr<int> { return count; },
          .may_be_default = [may_be_default](const DeviceIdentity&) { return may_be_default; }};
}

BackendFactory unusable_factory(const char* reason) {
  BackendFactory factory = null_factory(0);
  factory.count = [reason]() -> absl::StatusOr<int> { return absl::UnavailableError(reason); };
  return factory;
}

class DefaultDevice : public testing::Test {
 protected:
  ScopedVariable variable_{"REMORA_DEVICE", nullptr};
  Registry registry_;
};

TEST_F(DefaultDevice, default_device_order) {
  registry_.add(BackendKind::kRemote, null_factory(1));
  EXPECT_EQ(registry_.default_device()->kind(), BackendKind::kRemote);
  registry_.add(BackendKind::kCpu, null_factory(1));
  EXPECT_EQ(*registry_.default_device(), Device::cpu());
  registry_.add(BackendKind::kVulkan, null_factory(1));
  EXPECT_EQ(*registry_.default_device(), Device::vulkan());
  registry_.add(BackendKind::kCuda, null_factory(4));
  EXPECT_EQ(*registry_.default_device(), Device::cuda(0));
}

TEST_F(DefaultDevice, default_device_skips_unusable) {
  registry_.add(BackendKind::kCuda, unusable_factory("the driver of this test is missing"));
  registry_.add(BackendKind::kVulkan, null_factory(0));
  registry_.add(BackendKind::kCpu, null_factory(1));
  testing::internal::CaptureStderr();
  EXPECT_EQ(*registry_.default_device(), Device::cpu());
  EXPECT_EQ(*registry_.default_device(), Device::cpu());
  const std::string said = testing::internal::GetCapturedStderr();
  const size_t first = said.find("the driver of this test is missing");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_NE(said.find("cuda"), std::string::npos) << said;
  EXPECT_EQ(said.find("the driver of this test is missing", first + 1), std::string::npos)
      << "said more than once: " << said;
}

TEST_F(DefaultDevice, default_device_never_software) {
  registry_.add(BackendKind::kVulkan, null_factory(1, false));
  registry_.add(BackendKind::kCapture, null_factory(1));
  EXPECT_FALSE(registry_.default_device().ok());
  registry_.add(BackendKind::kCpu, null_factory(1));
  EXPECT_EQ(*registry_.default_device(), Device::cpu());
}

TEST_F(DefaultDevice, no_backend_built) {
  EXPECT_TRUE(fails_with(registry_.default_device().status(), absl::StatusCode::kUnimplemented,
                         {"REMORA_CPU", "REMORA_CUDA", "REMORA_VULKAN", "REMORA_REMOTE"}));
}

TEST_F(DefaultDevice, remora_device_selects) {
  registry_.add(BackendKind::kCpu, null_factory(2));
  registry_.add(BackendKind::kVulkan, null_factory(1));
  const ScopedVariable chosen("REMORA_DEVICE", "CPU:1");
  EXPECT_EQ(*registry_.default_device(), Device::cpu(1));
}

TEST_F(DefaultDevice, remora_device_empty_is_unset) {
  registry_.add(BackendKind::kCpu, null_factory(2));
  const ScopedVariable chosen("REMORA_DEVICE", "");
  EXPECT_EQ(*registry_.default_device(), Device::cpu());
}

TEST_F(DefaultDevice, remora_device_unknown) {
  registry_.add(BackendKind::kCpu, null_factory(1));
  const ScopedVariable chosen("REMORA_DEVICE", "gpu");
  EXPECT_TRUE(fails_with(registry_.default_device().status(), absl::StatusCode::kInvalidArgument,
                         {"REMORA_DEVICE", "gpu", "available: cpu"}));
}

TEST_F(DefaultDevice, remora_device_not_built) {
  registry_.add(BackendKind::kCpu, null_factory(1));
  const ScopedVariable chosen("REMORA_DEVICE", "vulkan:0");
  EXPECT_TRUE(fails_with(registry_.default_device().status(), absl::StatusCode::kUnimplemented,
                         {"REMORA_DEVICE", "vulkan", "REMORA_VULKAN", "available: cpu"}));
}

TEST_F(DefaultDevice, remora_device_unusable) {
  registry_.add(BackendKind::kCpu, null_factory(1));
  registry_.add(BackendKind::kCuda, unusable_factory("no driver"));
  {
    const ScopedVariable chosen("REMORA_DEVICE", "cuda:0");
    EXPECT_TRUE(fails_with(registry_.default_device().status(), absl::StatusCode::kUnavailable,
                           {"REMORA_DEVICE", "cuda:0", "no driver", "available: cpu"}));
  }
  const ScopedVariable chosen("REMORA_DEVICE", "cpu:7");
  EXPECT_TRUE(fails_with(registry_.default_device().status(), absl::StatusCode::kNotFound,
                         {"REMORA_DEVICE", "cpu:7", "cpu has 1"}));
}

/// The texts of what `registry` enumerates.
std::vector<std::string> enumerated(Registry& registry, const std::vector<DeviceFilter>& filters) {
  std::vector<std::string> texts;
  for (const Device& device : registry.enumerate(filters)) texts.push_back(device.str());
  return texts;
}

TEST(Registry, enumerate_order_and_duplicates) {
  using Texts = std::vector<std::string>;
  Registry registry;
  registry.add(BackendKind::kCpu, null_factory(2));
  registry.add(BackendKind::kCuda, null_factory(1));
  registry.add(BackendKind::kCapture, null_factory(1));
  constexpr auto kCpu = BackendKind::kCpu;
  constexpr auto kCuda = BackendKind::kCuda;
  EXPECT_EQ(enumerated(registry, {kCuda, kCpu}), (Texts{"cuda:0", "cpu", "cpu:1"}));
  EXPECT_EQ(enumerated(registry, {kCpu, kCuda, kCpu}),
            (Texts{"cpu", "cpu:1", "cuda:0", "cpu", "cpu:1"}));
  EXPECT_EQ(enumerated(registry, {BackendKind::kVulkan, BackendKind::kCapture}), Texts{});
  EXPECT_EQ(enumerated(registry, {}), Texts{});
}

TEST(Registry, enumerate_skips_unusable) {
  using Texts = std::vector<std::string>;
  BackendFactory broken = null_factory(3);
  broken.open =
      [](const DeviceIdentity& identity) -> absl::StatusOr<std::unique_ptr<dispatch::Backend>> {
    if (identity.index == 1) return absl::UnavailableError("broken");
    return std::make_unique<NullBackend>("null");
  };
  Registry registry;
  registry.add(BackendKind::kCpu, null_factory(1));
  registry.add(BackendKind::kCuda, broken);
  registry.add(BackendKind::kVulkan, unusable_factory("no driver"));
  EXPECT_EQ(enumerated(registry, {BackendKind::kVulkan, BackendKind::kCuda, BackendKind::kCpu}),
            (Texts{"cuda:0", "cuda:2", "cpu"}));
}

TEST(Registry, opens_a_device_once) {
  int opened = 0;
  BackendFactory factory = null_factory(1);
  factory.open = [&](const DeviceIdentity&) -> absl::StatusOr<std::unique_ptr<dispatch::Backend>> {
    ++opened;
    return std::make_unique<NullBackend>("null");
  };
  Registry registry;
  registry.add(BackendKind::kCpu, factory);
  const auto first = registry.open(Device::cpu());
  const auto second = registry.open(Device::cpu().autodiff());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(registry.opened().size(), 1u);
}

TEST(Registry, a_failed_open_is_tried_again) {
  int tries = 0;
  BackendFactory factory = null_factory(1);
  factory.open = [&](const DeviceIdentity&) -> absl::StatusOr<std::unique_ptr<dispatch::Backend>> {
    if (++tries == 1) return absl::UnavailableError("not yet");
    return std::make_unique<NullBackend>("null");
  };
  Registry registry;
  registry.add(BackendKind::kCpu, factory);
  EXPECT_TRUE(fails_with(registry.open(Device::cpu()).status(), absl::StatusCode::kUnavailable,
                         {"not yet"}));
  EXPECT_TRUE(registry.open(Device::cpu()).ok());
}

TEST(Registry, a_kind_not_built_in_is_refused_by_name) {
  EXPECT_TRUE(fails_with(error_of([] { Device::cuda().state(); }), absl::StatusCode::kUnimplemented,
                         {"cuda", "REMORA_CUDA", "built in: cpu, vulkan"}));
}

TEST(Registry, a_device_that_is_not_there_is_refused) {
  EXPECT_TRUE(fails_with(error_of([] { Device::cpu(kCpuDevices).state(); }),
                         absl::StatusCode::kNotFound, {}));
}

TEST(Registry, default_of_this_program_is_cpu_although_a_software_vulkan_is_there) {
  const ScopedVariable variable("REMORA_DEVICE", nullptr);
  EXPECT_EQ(Device::default_device(), Device::cpu());
}

}  // namespace
}  // namespace remora::test
