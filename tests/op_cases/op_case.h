// The op case table: for every row of the catalogue the inputs and attributes it is tried with, one
// line each. Every rule that holds for all ops (the tests of this folder) runs over this one table,
// on every device variant; tests/README.md says how to add a case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/op.h"
#include "tests/reference/reference.h"
#include "tests/support/comparison.h"
#include "tests/support/generators.h"

namespace remora::test {

struct OpCase {
  std::string op;
  std::string name;  // unique among the cases of its op
  std::vector<Input> inputs;
  dispatch::Attrs attrs = dispatch::NoAttrs{};

  const dispatch::OpInfo& info() const;
  /// "add (broadcasting)".
  std::string title() const { return op + " (" + name + ")"; }
  /// The element type it computes in.
  DType dtype() const;
  /// The inputs, always the same ones.
  reference::Arrays make_inputs() const;
};

using OpCases = std::vector<OpCase>;

/// The whole table: the cases of the source files, and each case of f32 or i64 again in every other
/// float or integer dtype.
const OpCases& op_cases();

/// What a result of this op may differ by from the reference, by numerics: exact where the op
/// rounds once or moves elements, a few ULP for functions, relative to the sum of magnitudes for
/// sums. `dtype` is what the op computes in.
Tolerance tolerance_of(const dispatch::OpInfo& info, DType dtype);

// One function per source file appends its cases.
void add_elementwise_cases(OpCases& cases);
void add_creation_cases(OpCases& cases);
void add_reduction_cases(OpCases& cases);
void add_shape_cases(OpCases& cases);
void add_indexing_cases(OpCases& cases);
void add_contraction_cases(OpCases& cases);
void add_attention_cases(OpCases& cases);
void add_order_cases(OpCases& cases);
void add_linalg_cases(OpCases& cases);

}  // namespace remora::test
