#include "dispatch/op_work.h"

#include <algorithm>
#include <cmath>

namespace remora::dispatch {
namespace {

/// Of one call of a prelude function, and of one random number.
constexpr double kFunctionFlops = 20.0;
constexpr double kDrawFlops = 40.0;
/// Of a factorisation, for each multiplication of matrices of its size.
constexpr double kFactorisationFlops = 10.0;

double elements(std::span<const Spec> specs) {
  double sum = 0.0;
  for (const Spec& spec : specs) sum += static_cast<double>(spec.numel());
  return sum;
}

int64_t last_size(const Spec& spec) {
  return spec.shape.rank() == 0 ? 1 : spec.shape[spec.shape.rank() - 1];
}

/// Each element of the result sums a product over what the operands share. For [M, K] x [K, N] the
/// root of all three sizes' product is M K N; leading axes that all have count on their own.
double contraction_flops(std::span<const Spec> inputs, const Spec& output) {
  double batch = 1.0;
  const auto all_share = [&](int64_t axis) {
    return std::ranges::all_of(inputs, [&](const Spec& input) {
      return axis + 2 < input.shape.rank() && axis < output.shape.rank() &&
             input.shape[axis] == output.shape[axis];
    });
  };
  for (int64_t axis = 0; all_share(axis); ++axis) {
    batch *= static_cast<double>(output.shape[axis]);
  }
  if (batch == 0.0) return 0.0;
  double product = static_cast<double>(output.numel()) / batch;
  for (const Spec& input : inputs) product *= static_cast<double>(input.numel()) / batch;
  // One operand: a transform, in n log n.
  if (inputs.size() == 1) return 5.0 * elements(inputs) * std::log2(elements(inputs) / batch + 1.0);
  return 2.0 * batch * std::sqrt(product);
}

/// A row of the first operand meets every row of the second, forwards once and back once.
double composite_flops(std::span<const Spec> inputs, std::span<const Spec> outputs) {
  if (inputs.size() == 1) return kFunctionFlops * elements(outputs);
  const Spec& keys = inputs[1];
  const int64_t rank = keys.shape.rank();
  const double met = rank < 2 ? 1.0 : static_cast<double>(keys.shape[rank - 2]);
  const double row = static_cast<double>(last_size(inputs[0]));
  return elements(inputs.first(1)) * met * (4.0 + kFunctionFlops / std::max(row, 1.0));
}

double flops_of(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs) {
  const double in = elements(inputs);
  const double out = elements(outputs);
  switch (info.kind) {
    case OpKind::kCreation:
      return std::holds_alternative<RandomAttrs>(info.default_attrs) ? kDrawFlops * out : out;
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kTernary: {
      // An expression is its own price list; a row without one is a function.
      const bool calls = info.expression.empty() || info.expression.find("r_") != std::string::npos;
      return (calls ? kFunctionFlops : 1.0) * out;
    }
    case OpKind::kCast:
    case OpKind::kShape:
      return out;
    case OpKind::kReduction:
      return in;
    case OpKind::kIndexing:
    case OpKind::kPooling:
      return std::max(in, out) * std::log2(static_cast<double>(last_size(inputs[0])) + 2.0);
    case OpKind::kContraction:
      return contraction_flops(inputs, outputs[0]);
    case OpKind::kLinearAlgebra:
      return kFactorisationFlops * in * static_cast<double>(last_size(inputs[0]));
    case OpKind::kComposite:
      return composite_flops(inputs, outputs);
  }
  return in + out;
}

}  // namespace

OpWork op_work(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs) {
  OpWork work;
  for (const auto specs : {inputs, outputs}) {
    for (const Spec& spec : specs) work.bytes += static_cast<double>(spec.byte_size());
  }
  work.flops = flops_of(info, inputs, outputs);
  return work;
}

}  // namespace remora::dispatch
