#include "kernels/cpu/cgroup.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace remora::cpu {
namespace {

using std::filesystem::path;

/// Calls `look` for `group` below `mount` and for every group around it.
void upwards(const path& mount, const path& group, const std::function<void(const path&)>& look) {
  for (path each = group.relative_path();; each = each.parent_path()) {
    look(mount / each);
    if (each.empty()) return;
  }
}

/// Lowers `limit` to the number in a file; "max", a negative number and no file limit nothing.
void lower_to(const path& file, int64_t& limit) {
  std::ifstream in(file);
  int64_t number = 0;
  if (in >> number && number >= 0) limit = std::min(limit, number);
}

void lower_processors(int64_t quota_us, int64_t period_us, int& processors) {
  if (quota_us <= 0 || period_us <= 0) return;
  const int64_t whole = (quota_us + period_us - 1) / period_us;
  processors = static_cast<int>(std::min<int64_t>(processors, whole));
}

void look_at_version_2(const path& group, CgroupLimits& limits) {
  lower_to(group / "memory.max", limits.memory_bytes);
  std::ifstream in(group / "cpu.max");
  int64_t quota_us = 0;
  int64_t period_us = 0;
  if (in >> quota_us >> period_us) lower_processors(quota_us, period_us, limits.processors);
}

void look_at_cpu_version_1(const path& group, CgroupLimits& limits) {
  std::ifstream quota(group / "cpu.cfs_quota_us");
  std::ifstream period(group / "cpu.cfs_period_us");
  int64_t quota_us = 0;
  int64_t period_us = 0;
  if (quota >> quota_us && period >> period_us)
    lower_processors(quota_us, period_us, limits.processors);
}

/// True if `name` is one of the controllers "cpu,cpuacct".
bool names(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == name) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

CgroupLimits cgroup_limits(const path& membership, const path& mount) {
  CgroupLimits limits;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/group", "0::/group"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const path group = line.substr(second + 1);
    if (controllers.empty()) {
      const auto look = [&](const path& each) { look_at_version_2(each, limits); };
      upwards(mount, group, look);
      upwards(mount / "unified", group, look);
    }
    if (names(controllers, "memory")) {
      upwards(mount / "memory", group, [&](const path& each) {
        lower_to(each / "memory.limit_in_bytes", limits.memory_bytes);
      });
    }
    if (names(controllers, "cpu")) {
      const auto look = [&](const path& each) { look_at_cpu_version_1(each, limits); };
      upwards(mount / "cpu", group, look);
      upwards(mount / controllers, group, look);
    }
  }
  return limits;
}

}  // namespace remora::cpu
