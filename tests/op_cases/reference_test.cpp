// Every case on every device against the slow reference, however its operands lie in memory.
#include <algorithm>

#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "tests/op_cases/device_check.h"
#include "tests/op_cases/op_case.h"
#include "tests/support/device_variants.h"
#include "tests/support/values.h"

namespace remora::test {
namespace {

class OpCaseOnDevice : public OnEveryDevice {};

std::vector<dispatch::HostData> run(const Device& device, const OpCase& op_case,
                                    const reference::Arrays& inputs, Layout layout) {
  const auto values = place_all(device, inputs, layout);
  return read_all(dispatch::submit(op_case.info().code, values, op_case.attrs, &device));
}

TEST_P(OpCaseOnDevice, equals_reference) {
  for (const OpCase& op_case : op_cases()) {
    EXPECT_EQ(reference_difference(device(), op_case), "") << op_case.title();
  }
}

/// Zero sizes and rank 0 in every row, the results' Specs included.
TEST_P(OpCaseOnDevice, empty_tensors_everywhere) {
  for (const OpCase& op_case : op_cases()) {
    const reference::Arrays inputs = op_case.make_inputs();
    const reference::Arrays expected = reference::evaluate(op_case.op, inputs, op_case.attrs);
    const auto is_edge = [](const reference::Array& array) {
      return array.numel() == 0 || array.rank() == 0;
    };
    const auto is_long = [](const reference::Array& array) { return array.numel() > 1000; };
    if (std::ranges::any_of(inputs, is_long)) continue;
    if (std::ranges::none_of(inputs, is_edge) && std::ranges::none_of(expected, is_edge)) continue;
    for (const Layout layout : {Layout::kReversed, Layout::kStrided}) {
      SCOPED_TRACE(op_case.title() + ", " + std::string(layout_name(layout)));
      const auto actual = run(device(), op_case, inputs, layout);
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_EQ(difference(actual[i], expected[i], {.ulps = 8.0, .absolute = 1e-5}), "");
      }
    }
  }
}

struct BadValue {
  const char* op;
  std::vector<Input> inputs;
  dispatch::Attrs attrs = dispatch::NoAttrs{};
};

TEST_P(OpCaseOnDevice, an_index_out_of_range_or_a_zero_divisor_is_an_error_of_the_op_alone) {
  const BadValue bad_values[] = {
      {"gather", {f32({3}), listed({2}, {0, 3}, DType::kI64)}, dispatch::AxisAttrs{0}},
      {"gather", {f32({3}), listed({2}, {-1, 0}, DType::kI64)}, dispatch::AxisAttrs{0}},
      {"gather", {f32({3}), listed({1}, {9e18}, DType::kI64)}, dispatch::AxisAttrs{0}},
      {"scatter_add",
       {f32({3}), listed({2}, {0, 3}, DType::kI64), f32({2})},
       dispatch::AxisAttrs{0}},
      {"scatter_add",
       {i64({3}), listed({2}, {-4, 0}, DType::kI64), i64({2})},
       dispatch::AxisAttrs{0}},
      {"remainder", {i64({2}), listed({2}, {3, 0}, DType::kI64)}},
      {"fmod", {i64({2, 1}), listed({}, {0}, DType::kI64)}},
      {"floor_divide", {listed({1}, {7}, DType::kU8), listed({2}, {0, 2}, DType::kU8)}},
      {"scatter", {f32({3}), listed({2}, {0, 3}, DType::kI64), f32({2})}, dispatch::AxisAttrs{0}},
      {"scatter_reduce",
       {i64({3}), listed({2}, {-1, 0}, DType::kI64), i64({2})},
       dispatch::ScatterAttrs{0, 1}},
      {"slice", {f32({4})}, dispatch::SliceAttrs{{3}, {1}, {2}}},
      {"slice", {f32({4})}, dispatch::SliceAttrs{{-1}, {1}, {2}}},
      {"slice", {f32({4})}, dispatch::SliceAttrs{{1}, {-1}, {3}}},
      {"slice", {f32({4})}, dispatch::SliceAttrs{{INT64_MAX}, {1}, {2}}},
      {"slice", {f32({4})}, dispatch::SliceAttrs{{INT64_MIN}, {-1}, {2}}},
      {"slice_assign", {f32({4}), f32({2})}, dispatch::SliceAttrs{{3}, {1}, {2}}},
  };
  const Device where = device();
  for (const BadValue& bad : bad_values) {
    SCOPED_TRACE(std::string(bad.op) + " " + dispatch::attrs_str(bad.attrs));
    const OpCase op_case{bad.op, "bad value", bad.inputs, bad.attrs};
    const auto inputs = place_all(where, op_case.make_inputs());
    const auto failed = dispatch::submit(op_case.info().code, inputs, bad.attrs, &where);
    const auto dependent = dispatch::submit(dispatch::OpCode::neg, failed, dispatch::NoAttrs{});
    const auto independent =
        dispatch::submit(dispatch::OpCode::neg, std::span(&inputs[0], 1), dispatch::NoAttrs{});
    EXPECT_NO_THROW(read_all(independent));
    for (const dispatch::Value& lost : {failed[0], dependent[0]}) {
      try {
        (void)dispatch::read(lost);
        ADD_FAILURE() << "gave a value";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_NE(std::string(error.what()).find(bad.op), std::string::npos) << error.what();
      }
    }
  }
}

TEST_P(OpCaseOnDevice, a_matrix_without_factors_is_an_error_of_the_op_alone) {
  const std::pair<const char*, std::vector<Input>> bad[] = {
      {"cholesky", {listed({2, 2}, {1, 2, 2, 1})}},
      {"solve", {listed({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4}), f32({2, 2, 1})}},
  };
  const Device where = device();
  for (const auto& [op, operands] : bad) {
    SCOPED_TRACE(op);
    const OpCase op_case{op, "no factors", operands};
    const auto inputs = place_all(where, op_case.make_inputs());
    const auto failed = dispatch::submit(op_case.info().code, inputs, op_case.attrs, &where);
    try {
      (void)dispatch::read(failed[0]);
      ADD_FAILURE() << "gave a value";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(op), std::string::npos) << error.what();
    }
    EXPECT_NO_THROW(read_all(inputs));
  }
}

TEST_P(OpCaseOnDevice, layout_of_operands_changes_no_bit) {
  for (const OpCase& op_case : op_cases()) {
    if (op_case.inputs.empty()) continue;
    const reference::Arrays inputs = op_case.make_inputs();
    reference::Arrays repeated;
    for (const reference::Array& input : inputs) repeated.push_back(repeat_first(input));
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(op_case.title() + ", " + std::string(layout_name(layout)));
      const reference::Arrays& used = layout == Layout::kExpanded ? repeated : inputs;
      const auto expected = run(device(), op_case, used, Layout::kContiguous);
      const auto actual = run(device(), op_case, used, layout);
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_EQ(bit_difference(actual[i], expected[i]), "") << "output " << i;
      }
    }
  }
}

REMORA_ON_EVERY_DEVICE(OpCaseOnDevice);

}  // namespace
}  // namespace remora::test
