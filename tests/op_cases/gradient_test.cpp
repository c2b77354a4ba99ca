// The gradient of every differentiable row by central differences of the f64 reference: the
// differences carry no f32 noise, so the bound on our f32 gradient can be tight.
#include <algorithm>
#include <cmath>

#include "client/apply.h"
#include "client/autodiff/autodiff.h"
#include "client/autodiff/balanced.h"
#include "client/autodiff/gradients.h"
#include "client/ops.h"
#include "tests/op_cases/op_case.h"
#include "tests/support/device_variants.h"

namespace remora::test {
namespace {

/// Elements of all inputs above which differences take too long.
constexpr int64_t kMaxElements = 160;
constexpr double kStep = 1e-5;
/// Of the largest gradient of the input: the roundings of a few ops plus the truncation of the
/// differences.
double error_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-7;
    case DType::kF16:
      return 1e-2;
    case DType::kBF16:
      return 8e-2;
    default:
      return 5e-5;
  }
}

class OpCaseGradient : public OnEveryDevice {};

constexpr double kLargestCast = 1e4;

/// Cases with listed elements show ties, NaN and kinks, where differences say nothing.
bool is_checked(const OpCase& op_case) {
  int64_t elements = 0;
  bool real = false;
  const auto* cast = std::get_if<dispatch::DTypeAttrs>(&op_case.attrs);
  for (const Input& input : op_case.inputs) {
    if (input.fill == Fill::kListed || input.fill == Fill::kSpecial) return false;
    // The step is lost among the results of casting numbers this large.
    if (cast != nullptr && input.high > kLargestCast) return false;
    elements += input.spec.numel();
    real |= is_float(input.spec.dtype);
  }
  // Few numbers fit 16 bits: a step of these functions is too often met exactly.
  const std::string_view expression = op_case.info().expression;
  for (const char* step : {"r_floor", "r_ceil", "r_round", "r_trunc", "r_fmod", "r_remainder"}) {
    if (is_half(op_case.dtype()) && expression.find(step) != std::string_view::npos) return false;
  }
  return real && elements <= kMaxElements &&
         autodiff::gradient_rule(op_case.info().code).differentiable();
}

/// A weight for each float output: what the gradients are multiplied with.
reference::Arrays make_cotangents(const OpCase& op_case, const reference::Arrays& outputs) {
  reference::Arrays cotangents;
  for (const reference::Array& output : outputs) {
    if (output.is_real()) {
      Input cotangent = f32(output.spec.shape);
      cotangent.spec.dtype = output.spec.dtype;
      cotangents.push_back(generate(cotangent, seed_of(op_case.op, "cotangent " + op_case.name)));
    }
  }
  return cotangents;
}

/// sum over the float outputs of output * cotangent, where the output is finite.
double weighted(const OpCase& op_case, const reference::Arrays& inputs,
                const reference::Arrays& cotangents) {
  double total = 0.0;
  size_t next = 0;
  for (const reference::Array& output : reference::evaluate(op_case.op, inputs, op_case.attrs)) {
    if (!output.is_real()) continue;
    for (size_t i = 0; i < output.reals.size(); ++i) {
      if (std::isfinite(output.reals[i])) total += output.reals[i] * cotangents[next].reals[i];
    }
    ++next;
  }
  return total;
}

std::vector<double> differences(const OpCase& op_case, reference::Arrays inputs, size_t by,
                                const reference::Arrays& cotangents) {
  std::vector<double> gradient;
  for (double& element : inputs[by].reals) {
    const double at = element;
    const auto difference = [&](double step) {
      element = at + step;
      const double above = weighted(op_case, inputs, cotangents);
      element = at - step;
      const double below = weighted(op_case, inputs, cotangents);
      element = at;
      return (above - below) / (2 * step);
    };
    // Richardson's extrapolation: the error falls with the fourth power of the step.
    gradient.push_back((4 * difference(kStep / 2) - difference(kStep)) / 3);
  }
  return gradient;
}

/// Our gradients of the case by its float inputs, on leaves of `device`'s context. Between leaves
/// and op lie two ops, so that operands too may have to be recomputed.
std::vector<Tensor> gradients(const OpCase& op_case, const Device& device,
                              const reference::Arrays& inputs,
                              const reference::Arrays& cotangents) {
  std::vector<Tensor> tensors, leaves, outputs, weights;
  for (const reference::Array& input : inputs) {
    Tensor tensor = from_host(reference::to_host(input), device);
    if (input.is_real()) {
      leaves.push_back(tensor.require_grad());
      tensor = neg(neg(leaves.back()));
    }
    tensors.push_back(tensor);
  }
  for (const Tensor& output : apply_all(op_case.info().code, tensors, op_case.attrs)) {
    if (is_float(output.dtype())) outputs.push_back(output);
  }
  for (const reference::Array& cotangent : cotangents) {
    weights.push_back(from_host(reference::to_host(cotangent), device.without_autodiff()));
  }
  return autodiff::grad(outputs, leaves, weights);
}

TEST_P(OpCaseGradient, equals_central_differences) {
  for (const OpCase& op_case : op_cases()) {
    if (!is_checked(op_case)) continue;
    SCOPED_TRACE(op_case.title());
    const reference::Arrays inputs = op_case.make_inputs();
    const reference::Arrays cotangents =
        make_cotangents(op_case, reference::evaluate(op_case.op, inputs, op_case.attrs));
    if (cotangents.empty()) continue;  // a cast to integers
    const auto computed = gradients(op_case, device().autodiff(), inputs, cotangents);
    // The coarsest dtype on the way counts: a cast's result is one.
    double error = 0.0;
    for (const auto* arrays : {&inputs, &cotangents}) {
      for (const reference::Array& array : *arrays) {
        if (array.is_real()) error = std::max(error, error_of(array.spec.dtype));
      }
    }
    size_t next = 0;
    for (size_t by = 0; by < inputs.size(); ++by) {
      if (!inputs[by].is_real()) continue;
      const std::vector<double> expected = differences(op_case, inputs, by, cotangents);
      const Tensor& gradient = computed[next++];
      ASSERT_EQ(gradient.spec(), inputs[by].spec) << "by input " << by;
      const reference::Array actual = reference::from_host(gradient.read_async().get());
      double largest = 1.0;
      for (const double element : expected) largest = std::max(largest, std::abs(element));
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(actual.reals[i], expected[i], error * largest)
            << "by input " << by << ", element " << i;
      }
    }
  }
}

TEST_P(OpCaseGradient, checkpointing_equals_plain) {
  const autodiff::CheckpointCostsScope scope(autodiff::CheckpointCostsScope::nothing_kept());
  for (const OpCase& op_case : op_cases()) {
    if (!is_checked(op_case)) continue;
    SCOPED_TRACE(op_case.title());
    const reference::Arrays inputs = op_case.make_inputs();
    const reference::Arrays cotangents =
        make_cotangents(op_case, reference::evaluate(op_case.op, inputs, op_case.attrs));
    if (cotangents.empty()) continue;
    const Device plain = device().autodiff();
    const auto kept = gradients(op_case, plain, inputs, cotangents);
    const auto recomputed = gradients(op_case, plain.gradient_checkpointing(), inputs, cotangents);
    ASSERT_EQ(kept.size(), recomputed.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      const dispatch::HostData a = kept[i].read_async().get();
      const dispatch::HostData b = recomputed[i].read_async().get();
      ASSERT_TRUE(std::ranges::equal(a.span(), b.span())) << "by real input " << i;
    }
  }
}

TEST(OpCaseTable, every_differentiable_row_has_a_gradient_case) {
  for (const dispatch::OpInfo& row : dispatch::catalogue()) {
    if (!autodiff::gradient_rule(row.code).differentiable()) continue;
    const bool checked = std::ranges::any_of(op_cases(), [&](const OpCase& op_case) {
      return op_case.op == row.name && is_checked(op_case) && op_case.inputs[0].spec.numel() > 1;
    });
    EXPECT_TRUE(checked) << "add a case of '" << row.name << "' whose gradient can be checked";
  }
}

REMORA_ON_EVERY_DEVICE(OpCaseGradient);

}  // namespace
}  // namespace remora::test
