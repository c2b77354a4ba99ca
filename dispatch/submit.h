// The one path of every operation: route, infer, check support, record. Nothing has run when it
// returns.
#pragma once

#include <span>

#include "dispatch/device.h"
#include "dispatch/op.h"
#include "dispatch/value.h"
#include "dispatch/window.h"

namespace remora::dispatch {

/// Submits an op over `inputs` and returns its outputs. It runs where its first float operand
/// lives, else its first; operands elsewhere are moved there. Ops without operands run on `device`.
/// Throws INVALID_ARGUMENT for operands that do not fit and UNIMPLEMENTED for what the device
/// lacks; then nothing was recorded.
Values submit(OpCode code, std::span<const Value> inputs, const Attrs& attrs,
              const Device* device = nullptr);

/// The same by name: `invoke("softmax", {x}, AxisAttrs{1})`. NOT_FOUND for an unknown name.
Values invoke(std::string_view name, std::span<const Value> inputs, const Attrs& attrs,
              const Device* device = nullptr);

/// True if the device runs the op itself, false if it has to expand. Throws UNIMPLEMENTED if it can
/// do neither or cannot hold a result.
bool is_native(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs,
               DeviceState& device);

/// How far a draw of `spec` advances a generator.
uint64_t draw_offsets(const Spec& spec);

/// Draws from the device's generator: `code` is uniform or normal. `drawn` gets the attributes with
/// which `submit` gives the same numbers again.
Value submit_random(OpCode code, const Spec& spec, const Device& device,
                    RandomAttrs* drawn = nullptr);

/// The device an op over these operands runs on. Requires at least one.
DeviceState& route(std::span<const Value> inputs);

/// Sets the seed of every device's generator, and of those opened later, and their offsets to 0.
/// Throws FAILED_PRECONDITION, and seeds none, while a capture device has an open scope: a captured
/// graph draws from the generator of the device that it runs on.
void manual_seed(uint64_t seed);
/// The seed a device's generator starts with when the device is opened.
uint64_t initial_seed();

}  // namespace remora::dispatch
