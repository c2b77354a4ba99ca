// What a device may do with a window — cut it, replay it, run it elsewhere — changes no bit of any
// op, and an op changes none of its operands.
#include "dispatch/decompositions.h"
#include "dispatch/device_state.h"
#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "tests/op_cases/op_case.h"
#include "tests/support/device_variants.h"
#include "tests/support/values.h"

namespace remora::test {
namespace {

using dispatch::HostData;
using dispatch::Value;
using dispatch::Values;

class OpCaseInWindow : public OnEveryDevice {
 protected:
  Values submit(const OpCase& op_case, std::span<const Value> inputs) const {
    const Device where = device();
    return dispatch::submit(op_case.info().code, inputs, op_case.attrs, &where);
  }
  static void expect_same_bits(const std::vector<HostData>& actual,
                               const std::vector<HostData>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(bit_difference(actual[i], expected[i]), "") << "output " << i;
    }
  }
};

TEST_P(OpCaseInWindow, replayed_equals_eager) {
  dispatch::PlanCache& plans = device().state().plans();
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.title());
    const auto inputs = place_all(device(), op_case.make_inputs());
    device().flush();
    const auto eager = read_all(submit(op_case, inputs));
    for (int pass = 0; pass < 3; ++pass) {
      const uint64_t hits = plans.hits();
      const uint64_t misses = plans.misses();
      Values first = submit(op_case, inputs);
      Values second = submit(op_case, inputs);  // the same op in a window of two
      device().synchronize();
      if (pass > 0) {
        EXPECT_EQ(plans.hits(), hits + 1) << "pass " << pass;
        EXPECT_EQ(plans.misses(), misses) << "pass " << pass;
      }
      expect_same_bits(read_all(first), eager);
      expect_same_bits(read_all(second), eager);
    }
  }
}

TEST_P(OpCaseInWindow, worker_equals_local_where_fingerprints_are_equal) {
  const Device here = Device::cpu();
  const bool comparable = same_fingerprint(device(), here);
  if (!comparable) GTEST_SKIP() << "fingerprints differ: equals_reference compares by tolerance";
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.title());
    const reference::Arrays inputs = op_case.make_inputs();
    const auto there_values = place_all(device(), inputs);
    const auto here_values = place_all(here, inputs);
    expect_same_bits(
        read_all(submit(op_case, there_values)),
        read_all(dispatch::submit(op_case.info().code, here_values, op_case.attrs, &here)));
  }
}

TEST_P(OpCaseInWindow, clone_invariance) {
  for (const OpCase& op_case : op_cases()) {
    if (op_case.inputs.empty()) continue;
    SCOPED_TRACE(op_case.title());
    const auto inputs = place_all(device(), op_case.make_inputs());
    const auto before = read_all(inputs);
    // One run with every operand held, one in which an equal-valued temporary may be reused.
    Values held = submit(op_case, inputs);
    const auto outputs_before = read_all(held);
    {
      auto temporaries = place_all(device(), op_case.make_inputs(), Layout::kTransposed);
      Values dropped = submit(op_case, temporaries);
      temporaries.clear();
      expect_same_bits(read_all(dropped), outputs_before);
    }
    expect_same_bits(read_all(inputs), before);
    expect_same_bits(read_all(held), outputs_before);
  }
}

TEST_P(OpCaseInWindow, fast_row_equals_its_decomposition) {
  for (const OpCase& op_case : op_cases()) {
    if (!op_case.info().fast) continue;
    SCOPED_TRACE(op_case.title());
    const reference::Arrays inputs = op_case.make_inputs();
    const auto values = place_all(device(), inputs);
    const auto decompose = dispatch::find_decomposition(op_case.info().code);
    ASSERT_NE(decompose, nullptr);
    const auto expanded = read_all(decompose(values, op_case.attrs));
    const auto native = read_all(submit(op_case, values));
    ASSERT_EQ(expanded.size(), native.size());
    for (size_t i = 0; i < native.size(); ++i) {
      const reference::Array expected = reference::from_host(expanded[i]);
      // Long sums: each way is within the row's own bound.
      const double bound = tolerance_of(op_case.info(), op_case.dtype()).absolute;
      EXPECT_EQ(difference(native[i], expected, {.ulps = 8.0, .absolute = std::max(bound, 1e-6)}),
                "");
    }
  }
}

REMORA_ON_EVERY_DEVICE(OpCaseInWindow);

}  // namespace
}  // namespace remora::test
