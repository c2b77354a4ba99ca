// What the kernel's control groups leave to this process: a container's share of the machine. Pure
// reads of /proc and /sys; any thread may call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace remora::cpu {

struct CgroupLimits {
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();  // the largest: no limit
  int processors = std::numeric_limits<int>::max();            // its processor time, rounded up
};

/// The lowest limits among the groups this process is in and those around them, of version 2 and of
/// version 1. A group that cannot be seen, as that of a container's host, limits nothing here.
CgroupLimits cgroup_limits(const std::filesystem::path& membership = "/proc/self/cgroup",
                           const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace remora::cpu
