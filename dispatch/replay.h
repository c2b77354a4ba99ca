// Runs a captured graph: as one window that exists already where the device runs every op itself,
// else op by op like any program.
#pragma once

#include <span>

#include "dispatch/captured_program.h"
#include "dispatch/device_state.h"
#include "dispatch/value.h"
#include "dispatch/window.h"

namespace remora::dispatch {

/// The program's outputs on `device`, where `inputs` and `initializers` live, with the Specs that
/// the program states. Does not wait. Draws take the device's generator as the recorded calls
/// would. Throws UNIMPLEMENTED for an op that the device neither runs nor can expand; then nothing
/// ran.
Values replay(const CapturedProgram& program, DeviceState& device, std::span<const Value> inputs,
              std::span<const Value> initializers);

}  // namespace remora::dispatch
