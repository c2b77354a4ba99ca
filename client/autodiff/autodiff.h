// Functions of the tape beyond `Tensor::backward`.
#pragma once

#include <span>
#include <vector>

#include "client/tensor.h"

namespace remora::autodiff {

struct GradOptions {
  /// Tracks the computation of the gradients themselves, so that they can be differentiated again.
  /// Keeps the tape.
  bool create_graph = false;
  bool keep_tape = false;
};

/// Gradients of sum(output * cotangent) by each of `inputs`, leaves or not; zeros for an input that
/// `output` does not depend on. `cotangent` may be undefined for an output of one element.
/// Accumulates nowhere. Throws FAILED_PRECONDITION for an untracked output or input and for a
/// consumed tape, INVALID_ARGUMENT for a cotangent of another shape or dtype.
std::vector<Tensor> grad(const Tensor& output, std::span<const Tensor> inputs,
                         const Tensor& cotangent = {}, GradOptions options = {});
/// The same for several outputs at once: of the sum over all of them.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> cotangents, GradOptions options = {});

/// What `Tensor::backward` does.
void backward(const Tensor& output, const Tensor& cotangent, bool keep_tape);

}  // namespace remora::autodiff
