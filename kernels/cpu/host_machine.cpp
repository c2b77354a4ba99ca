#include "kernels/cpu/host_machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "kernels/cpu/cgroup.h"

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace remora::cpu {
int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = sched_getaffinity(0, sizeof(set), &set) == 0
                          ? CPU_COUNT(&set)
                          : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(allowed, cgroup_limits().processors));
}

int64_t usable_memory_bytes() {
  const int64_t physical = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return std::min(physical, cgroup_limits().memory_bytes);
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
