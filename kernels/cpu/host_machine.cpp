#include "kernels/cpu/host_machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <thread>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace remora::cpu {
namespace {

/// The number in a cgroup file; the largest where there is none ("max" or no such file).
int64_t cgroup_limit(const char* path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  constexpr auto kNone = std::numeric_limits<int64_t>::max();
  if (!(file >> bytes)) return kNone;
  return static_cast<int64_t>(std::min(bytes, static_cast<uint64_t>(kNone)));
}

}  // namespace

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t usable_memory_bytes() {
  const int64_t physical = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return std::min({physical, cgroup_limit("/sys/fs/cgroup/memory.max"),
                   cgroup_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(':');
    const size_t begin = line.find_first_not_of(" \t", colon == std::string::npos ? 0 : colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown processor";
#endif
}

std::string c_library() {
#if defined(__GLIBC__)
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "libc";
#endif
}

}  // namespace remora::cpu
