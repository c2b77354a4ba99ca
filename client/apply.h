// The way of every operation from tensors to dispatch: contexts are merged, operands moved to the
// op's device, the op submitted, and a tape node made if an operand is tracked.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "client/tensor.h"
#include "dispatch/op.h"
#include "dispatch/submit.h"

namespace remora {

using OpInputs = absl::InlinedVector<Tensor, 3>;
using OpOutputs = absl::InlinedVector<Tensor, 2>;

/// Submits an op over at least one defined tensor. Throws what dispatch::submit does, and
/// INVALID_ARGUMENT for operands of different checkpointing strategies; then nothing has changed.
OpOutputs apply_all(dispatch::OpCode code, std::span<const Tensor> inputs,
                    dispatch::Attrs attrs = dispatch::NoAttrs{});
/// The only output of `apply_all`.
Tensor apply(dispatch::OpCode code, std::initializer_list<Tensor> inputs,
             dispatch::Attrs attrs = dispatch::NoAttrs{});

/// The operands on the device where an op over them runs: that of the first float operand, else the
/// first's. Those elsewhere are moved, differentiably, and counted, or with strict devices refused
/// in the name of `name`. A function that converts
/// operands calls it first, because a conversion may make a float of what decides the device.
OpInputs on_one_device(std::string_view name, std::span<const Tensor> inputs);

/// The context of a result: Disabled with Enabled(s) gives Enabled(s); two strategies are refused.
AutodiffContext merge_contexts(std::string_view op, std::span<const Tensor> inputs);

/// A rank-0 constant on the device of `like`, context Disabled. Its value is a param: a number that
/// changes from step to step never changes a plan.
Tensor constant(const Tensor& like, Scalar value, DType dtype);

/// Throws INVALID_ARGUMENT "name: message", after the name of the public function that the program
/// called if that is another.
[[noreturn]] void refuse(std::string_view name, std::string_view message);

/// `refuse`s sizes that are negative or too large together.
void require_shape(std::string_view name, const Shape& shape);

/// What both broadcast to; `refuse`s shapes that do not.
Shape common_shape(std::string_view name, const Shape& x, const Shape& y);

/// `axis` as an index in [0, rank). INVALID_ARGUMENT naming the function otherwise.
int64_t normalize_axis(std::string_view name, int64_t axis, int64_t rank);

}  // namespace remora
