#include <cstdlib>
#include <thread>

#include "client/cli/findings.h"
#include "client/cli/machine.h"
#include "dispatch/str_cat.h"

namespace remora::cli {
namespace {

bool has_flag(std::string_view flags, std::string_view flag) {
  return str_cat(" ", flags, " ").find(str_cat(" ", flag, " ")) != std::string::npos;
}

Finding find_device_kind(BackendKind kind) {
  Finding finding;
  finding.id = str_cat(backend_name(kind));
  const std::vector<LocalDevice> devices = local_devices(kind);
  if (devices.empty()) {
    finding.state = FindingState::kAbsent;
    finding.detail = "not in this build";
  }
  for (const LocalDevice& device : devices) {
    if (!finding.detail.empty()) finding.detail += "; ";
    if (!device.counted) {
      finding.state = FindingState::kAbsent;
      finding.detail += device.status.ok() ? "no device" : str_cat(device.status.message());
    } else if (device.status.ok()) {
      finding.detail += device.name;
    } else {
      finding.state = FindingState::kProblem;
      finding.detail += str_cat(device.text, ": ", device.status.message());
    }
  }
  return finding;
}

}  // namespace

std::vector<Finding> find_devices() {
  std::vector<Finding> findings;
  for (const BackendKind kind : {BackendKind::kCuda, BackendKind::kVulkan, BackendKind::kCpu}) {
    findings.push_back(find_device_kind(kind));
  }
  return findings;
}

std::vector<Finding> find_processor() {
  std::vector<Finding> findings;
  const std::string flags = value_in("/proc/cpuinfo", "flags");
  std::string levels;
  for (const char* flag : {"avx2", "fma", "avx512f", "avx512bw", "avx512vl", "amx_tile"}) {
    if (has_flag(flags, flag)) levels += str_cat(levels.empty() ? "" : " ", flag);
  }
  findings.push_back(
      {"processor", FindingState::kOk,
       str_cat(value_in("/proc/cpuinfo", "model name"), ", ", std::thread::hardware_concurrency(),
               " processors, ", levels.empty() ? "no AVX2" : levels),
       ""});
  findings.push_back({"memory", FindingState::kOk,
                      str_cat(value_in("/proc/meminfo", "MemTotal"), ", available ",
                              value_in("/proc/meminfo", "MemAvailable")),
                      ""});
  if (const char* const core = std::getenv("OPENBLAS_CORETYPE"); core != nullptr) {
    findings.push_back({"openblas-coretype", FindingState::kOk,
                        str_cat("OPENBLAS_CORETYPE=", core,
                                " decides which matrix kernels run, whatever the processor has"),
                        "unset OPENBLAS_CORETYPE"});
  }
  return findings;
}

}  // namespace remora::cli
