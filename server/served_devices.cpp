#include "server/served_devices.h"

#include <algorithm>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/op.h"
#include "dispatch/str_cat.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"
#if REMORA_CPU
#include "kernels/cpu/host_machine.h"
#include "kernels/cpu/limits.h"
#include "kernels/cpu/register.h"
#endif

namespace remora::server {
namespace {

#if REMORA_CPU
/// What a cpu device may hold by default: all of them share the machine's one memory.
int64_t cpu_share(const Options& options) {
  const auto is_cpu = [](const DeviceChoice& choice) { return choice.kind == BackendKind::kCpu; };
  const auto count = std::count_if(options.devices.begin(), options.devices.end(), is_cpu);
  const int64_t all = cpu::usable_memory_bytes() / 100 * cpu::kDefaultMemoryPercent;
  return std::max<int64_t>(all / count, 1);
}
#endif

/// Room for uploads to a device: for what one session may have in flight, at least.
int64_t staging_bytes(int64_t memory_limit_bytes) {
  return std::max(memory_limit_bytes / kStagingPart,
                  std::min(memory_limit_bytes, kMaxInFlightBytes));
}

absl::StatusOr<std::unique_ptr<dispatch::Backend>> open_backend(const Options& options,
                                                                const DeviceChoice& choice) {
  const auto limit = options.memory_limit_bytes.find(choice.kind);
  const int64_t limit_bytes = limit == options.memory_limit_bytes.end() ? 0 : limit->second;
  switch (choice.kind) {
#if REMORA_CPU
    case BackendKind::kCpu: {
      // Says so where this processor cannot run the code behind the calls below.
      REMORA_RETURN_IF_ERROR(cpu::backend_factory().count().status());
      cpu::CpuOptions cpu_options;
      if (options.threads > 0) cpu_options.threads = options.threads;
      cpu_options.memory_limit_bytes = limit_bytes > 0 ? limit_bytes : cpu_share(options);
      return cpu::open_cpu(choice.index, cpu_options);
    }
#endif
    default:
      (void)limit_bytes;
      return absl::UnimplementedError(
          str_cat("this build of the worker has no ", backend_name(choice.kind), " backend"));
  }
}

uint32_t supported_dtypes(const dispatch::Backend& backend, dispatch::OpCode code) {
  uint32_t bits = 0;
  for (uint8_t number = 0; number < 32; ++number) {
    if (is_known_dtype(number) && backend.supports(code, static_cast<DType>(number))) {
      bits |= uint32_t{1} << number;
    }
  }
  return bits;
}

v1::DeviceDescription describe(const std::string& text, const dispatch::Backend& backend,
                               const DeviceSettings& settings) {
  const dispatch::DeviceInfo info = backend.info();
  v1::DeviceDescription description;
  description.set_text(text);
  description.set_name(info.name);
  description.set_fingerprint(info.fingerprint);
  description.set_memory_limit_bytes(static_cast<uint64_t>(info.memory_limit_bytes));
  v1::DeviceSettings& prescribed = *description.mutable_settings();
  prescribed.set_float_dtype(static_cast<uint32_t>(settings.float_dtype));
  prescribed.set_int_dtype(static_cast<uint32_t>(settings.int_dtype));
  prescribed.set_bool_dtype(static_cast<uint32_t>(settings.bool_dtype));
  prescribed.set_tf32(settings.tf32);
  prescribed.set_deterministic(settings.deterministic);
  for (const dispatch::OpInfo& op : dispatch::catalogue()) {
    const uint32_t dtypes = supported_dtypes(backend, op.code);
    if (dtypes == 0) continue;
    v1::OpSupport& support = *description.add_support();
    support.set_opcode(static_cast<uint32_t>(op.code));
    support.set_dtypes(dtypes);
  }
  return description;
}

Device device_of(const DeviceChoice& choice) {
  return Device::parse(str_cat(backend_name(choice.kind), ":", choice.index));
}

}  // namespace

absl::StatusOr<std::vector<ServedDevice>> open_devices(const Options& options) {
  std::vector<ServedDevice> devices;
  for (const DeviceChoice& choice : options.devices) {
    const std::string text = str_cat(backend_name(choice.kind), ":", choice.index);
    absl::StatusOr<std::unique_ptr<dispatch::Backend>> backend = open_backend(options, choice);
    if (!backend.ok() && choice.optional) {
      spdlog::warn("not serving {}: {}", text, std::string(backend.status().message()));
      continue;
    }
    if (!backend.ok()) {
      return absl::Status(
          backend.status().code(),
          str_cat("--devices ", text, ": ", std::string(backend.status().message())));
    }
    ServedDevice device;
    device.text = text;
    device.description = describe(text, **backend, options.settings);
    device.staging =
        std::make_shared<FlowRoom>(staging_bytes((*backend)->info().memory_limit_bytes));
    device.state = std::make_unique<dispatch::DeviceState>(device_of(choice), *std::move(backend));
    devices.push_back(std::move(device));
  }
  if (devices.empty()) {
    return absl::NotFoundError("--devices: none of them can be served; the log says why");
  }
  return devices;
}

}  // namespace remora::server
