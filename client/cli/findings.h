// What `remora doctor` finds out about this machine and this program's surroundings. Reads files,
// opens libraries and closes them again; changes nothing. Not thread-safe (it reads the
// environment).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace remora::cli {

/// kAbsent: something optional is not there, which is no fault; kProblem: something is set or
/// installed and does not work.
enum class FindingState { kOk, kAbsent, kProblem };

/// "ok", "absent" or "problem".
std::string_view state_name(FindingState state);

struct Finding {
  std::string id;  // names the heading in docs/troubleshooting.md: "vulkan-driver"
  FindingState state = FindingState::kOk;
  std::string detail;
  std::string remedy;  // what brings it; empty where nothing is missing
};

/// The backends built in and the devices of this machine that they find.
std::vector<Finding> find_devices();
/// Processor, memory and what the BLAS library is told to run.
std::vector<Finding> find_processor();
/// The kernel drivers and the shared libraries that GPU backends open at run time.
std::vector<Finding> find_gpu_software();
/// REMORA_DEVICE, REMORA_TOKEN_FILE, each of REMORA_WORKERS, and the usual port.
std::vector<Finding> find_configuration();

}  // namespace remora::cli
