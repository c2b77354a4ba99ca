// What happens to an operand that lives elsewhere than its op runs: it is moved and counted, or
// with strict devices refused. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "dispatch/device_state.h"

namespace remora {

/// With `true`, an operand on another device than its op is an error that names the op and both
/// devices (FAILED_PRECONDITION), for every thread of the process, instead of a move. Overrides
/// REMORA_STRICT_DEVICES=1.
void strict_devices(bool on);
/// What was set, else whether REMORA_STRICT_DEVICES is 1.
bool strict_devices();

namespace dispatch {

/// Counters of the program: the sums over its devices.
struct ProgramStats {
  uint64_t windows = 0;
  uint64_t ops = 0;
  uint64_t plan_hits = 0;
  uint64_t plan_misses = 0;
  uint64_t moved_operands = 0;  // automatic moves of operands
};
ProgramStats stats();

/// Counts the move of an operand of `op` to where the op runs, or throws FAILED_PRECONDITION.
void count_move(std::string_view op, const DeviceState& from, DeviceState& to);

}  // namespace dispatch
}  // namespace remora
