#include "dispatch/device.h"

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct TextForm {
  const char* text;
  const char* printed;
};

TEST(Device, device_text_round_trip) {
  const TextForm forms[] = {
      {"cpu", "cpu"},
      {"CPU", "cpu"},
      {"cpu:0", "cpu"},
      {"cpu:1", "cpu:1"},
      {"cuda", "cuda:0"},
      {"Cuda:1", "cuda:1"},
      {"vulkan:0", "vulkan:0"},
      {"vulkan", "vulkan:0"},
      {"capture:3", "capture:3"},
      {"remote", "remote"},
      {"remote/cpu", "remote/cpu"},
      {"REMOTE/CUDA:1", "remote/cuda:1"},
      {"remote://host:7070", "remote://host:7070"},
      {"remote://host:7070/cuda:0", "remote://host:7070/cuda:0"},
      {"remote://host:7070/cuda", "remote://host:7070/cuda:0"},
      {"Remote://Host:7070/CPU", "remote://host:7070/cpu"},
      {"remote://[::1]:7070/cpu", "remote://[::1]:7070/cpu"},
      {"remote+unix:///run/remora.sock/cpu", "remote+unix:///run/remora.sock/cpu"},
      {"remote+unix:///run/remora.sock", "remote+unix:///run/remora.sock"},
      {"remote+unix:///run/Remora.sock/vulkan:0", "remote+unix:///run/Remora.sock/vulkan:0"},
  };
  for (const TextForm& form : forms) {
    SCOPED_TRACE(form.text);
    const Device device = Device::parse(form.text);
    EXPECT_EQ(device.str(), form.printed);
    EXPECT_EQ(Device::parse(device.str()), device);
  }
}

TEST(Device, device_id_round_trip) {
  for (const char* text : {"cpu", "cpu:1", "cuda:2", "vulkan:0", "capture:3", "remote",
                           "remote/cpu", "remote://host:7070", "remote://[::1]:7070/cuda:1",
                           "remote+unix:///run/Remora.sock/cpu:1"}) {
    SCOPED_TRACE(text);
    const Device device = Device::parse(text);
    const bool tracks = device.kind() != BackendKind::kCapture;
    const dispatch::DeviceIdentity id =
        (tracks ? device.autodiff().gradient_checkpointing() : device).identity();
    const Device decoded = Device::of(id);
    EXPECT_EQ(decoded, device);
    EXPECT_EQ(decoded.identity(), id);
    EXPECT_FALSE(decoded.has_autodiff());
    EXPECT_EQ(decoded.checkpointing(), Checkpointing::kDisabled);
  }
  const Device device = Device::parse("remote://host:7070/cuda:1");
  EXPECT_EQ(device.identity().endpoint, "host:7070");
  EXPECT_EQ(device.identity().inner, "cuda:1");
  EXPECT_EQ(Device::cpu(3).identity().endpoint, "");
  EXPECT_EQ(
      error_of([] { Device::of({.kind = BackendKind::kRemote, .endpoint = "nowhere"}); }).code(),
      kInvalid);
}

TEST(Device, device_text_last_unix_segment_is_the_device_only_if_it_parses_as_one) {
  const Device plain = Device::parse("remote+unix:///run/sockets/worker");
  EXPECT_EQ(plain.identity().endpoint, "unix:/run/sockets/worker");
  EXPECT_EQ(plain.identity().inner, "");
  const Device with_device = Device::parse("remote+unix:///run/sockets/cuda:1");
  EXPECT_EQ(with_device.identity().endpoint, "unix:/run/sockets");
  EXPECT_EQ(with_device.identity().inner, "cuda:1");
}

TEST(Device, device_text_refusals_say_what_is_allowed) {
  for (const char* name : {"metal", "rocm", "wgpu", "webgpu", "Metal:0"}) {
    EXPECT_TRUE(fails_with(error_of([&] { Device::parse(name); }), kInvalid, {name, "use vulkan"}));
  }
  for (const char* text : {"",
                           "gpu",
                           "cpu ",
                           " cpu",
                           "cpu:x",
                           "cpu:",
                           "cpu:-1",
                           "cpu:1.0",
                           "cpu:99999999999",
                           "cuda:0:1",
                           "remote:",
                           "remote:0",
                           "remote:/",
                           "remote://",
                           "remote://host",
                           "remote://host:",
                           "remote://host:0",
                           "remote://host:99999",
                           "remote://:7070",
                           "remote://host:7070/gpu",
                           "remote://host:7070/remote",
                           "remote/capture",
                           "remote://::1:7070",
                           "remote+unix://run/x.sock",
                           "remote+unix://",
                           "cpu/cuda"}) {
    const absl::Status status = error_of([&] { Device::parse(text); });
    EXPECT_EQ(status.code(), kInvalid) << "'" << text << "': " << status;
    EXPECT_NE(std::string(status.message()).find(text), std::string::npos) << status;
  }
  EXPECT_TRUE(fails_with(error_of([] { Device::parse("gpu"); }), kInvalid,
                         {"unknown device 'gpu'", "cpu", "cuda", "vulkan", "remote://"}));
}

TEST(Device, device_constructors) {
  EXPECT_EQ(Device::cpu().str(), "cpu");
  EXPECT_EQ(Device::cpu(1), Device::parse("cpu:1"));
  EXPECT_EQ(Device::cuda(2), Device::parse("cuda:2"));
  EXPECT_EQ(Device::vulkan(), Device::parse("vulkan:0"));
  EXPECT_EQ(Device::remote("host:7070", "cuda:0"), Device::parse("remote://host:7070/cuda:0"));
  EXPECT_EQ(Device::remote("host:7070"), Device::parse("remote://host:7070"));
  EXPECT_EQ(Device::remote("unix:/run/remora.sock", "cpu"),
            Device::parse("remote+unix:///run/remora.sock/cpu"));
  EXPECT_TRUE(fails_with(error_of([] { Device::cpu(-1); }), kInvalid, {"cpu", "-1"}));
  EXPECT_TRUE(fails_with(error_of([] { Device::cuda(-3); }), kInvalid, {"cuda", "-3"}));
  EXPECT_TRUE(fails_with(error_of([] { Device::vulkan(-1); }), kInvalid, {"vulkan", "-1"}));
}

TEST(Device, device_equality_ignores_autodiff) {
  const Device plain = Device::cpu();
  EXPECT_EQ(plain, plain.autodiff());
  EXPECT_EQ(plain, plain.autodiff().gradient_checkpointing());
  EXPECT_FALSE(plain == Device::cpu(1));
  EXPECT_FALSE(plain == Device::remote("host:1", "cpu"));
  EXPECT_EQ(plain.autodiff().str(), plain.str());
}

TEST(Device, device_autodiff_conversions_are_idempotent) {
  const Device plain = Device::cpu();
  EXPECT_FALSE(plain.has_autodiff());
  const Device tracked = plain.autodiff();
  EXPECT_TRUE(tracked.has_autodiff());
  EXPECT_EQ(tracked.checkpointing(), Checkpointing::kDisabled);
  EXPECT_TRUE(tracked.autodiff().has_autodiff());
  const Device balanced = tracked.gradient_checkpointing();
  EXPECT_EQ(balanced.checkpointing(), Checkpointing::kBalanced);
  EXPECT_EQ(balanced.gradient_checkpointing().checkpointing(), Checkpointing::kBalanced);
  EXPECT_EQ(balanced.autodiff().checkpointing(), Checkpointing::kBalanced)
      << "enabling twice keeps it";
  EXPECT_FALSE(balanced.without_autodiff().has_autodiff());
  EXPECT_EQ(balanced.without_autodiff().checkpointing(), Checkpointing::kDisabled);
  EXPECT_FALSE(plain.without_autodiff().has_autodiff());
}

TEST(Device, checkpointing_requires_autodiff) {
  EXPECT_TRUE(fails_with(error_of([] { (void)Device::cpu().gradient_checkpointing(); }),
                         absl::StatusCode::kFailedPrecondition, {"cpu", "autodiff"}));
}

}  // namespace
}  // namespace remora::test
