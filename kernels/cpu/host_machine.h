// Facts about this machine and this process. Pure reads of /proc, /sys and the system; any thread
// may call.
#pragma once

#include <cstdint>
#include <string>

namespace remora::cpu {

/// Processors this process may run on: its affinity, or its cgroups' processor time where that is
/// less; at least 1.
int usable_processors();
/// Physical memory, or the limit of its cgroups where that is lower.
int64_t usable_memory_bytes();
/// "Intel(R) Xeon(R) Processor", or the architecture where the system does not say.
std::string processor_name();
/// "glibc 2.36": its mathematical functions are part of what the device computes.
std::string c_library();

}  // namespace remora::cpu
