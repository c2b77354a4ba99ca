#include <cstdlib>
#include <fstream>
#include <thread>

#include "client/cli/findings.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"

namespace remora::cli {
namespace {

/// The first value of `key` in a file of "key : value" lines, or "".
std::string value_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

bool has_flag(std::string_view flags, std::string_view flag) {
  return str_cat(" ", flags, " ").find(str_cat(" ", flag, " ")) != std::string::npos;
}

Finding find_device_kind(BackendKind kind) {
  Finding finding;
  finding.id = str_cat(backend_name(kind));
  const auto factory = dispatch::registry().factory(kind);
  if (!factory.ok()) {
    finding.state = FindingState::kAbsent;
    finding.detail = "not in this build";
    return finding;
  }
  const absl::StatusOr<int> count = (*factory)->count();
  if (!count.ok() || *count == 0) {
    finding.state = FindingState::kAbsent;
    finding.detail = count.ok() ? "no device" : std::string(count.status().message());
    return finding;
  }
  for (int i = 0; i < *count; ++i) {
    const auto backend = (*factory)->open({.kind = kind, .index = i});
    if (!finding.detail.empty()) finding.detail += "; ";
    if (backend.ok()) {
      finding.detail += (*backend)->info().name;
    } else {
      finding.state = FindingState::kProblem;
      finding.detail += str_cat(backend_name(kind), ":", i, ": ", backend.status().message());
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
