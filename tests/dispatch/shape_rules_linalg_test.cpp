// What a caller is told when matrices, scans and scatters do not fit.
#include "dispatch/shape_rules.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

Spec f32(Shape shape) { return {DType::kF32, std::move(shape)}; }
Spec i64(Shape shape) { return {DType::kI64, std::move(shape)}; }

struct Refusal {
  OpCode code;
  std::vector<Spec> inputs;
  Attrs attrs;
  const char* message;
};

TEST(ShapeRules, matrices_scans_and_scatters_are_refused_by_name) {
  const Refusal refusals[] = {
      {OpCode::cholesky, {f32({3})}, NoAttrs{}, "cholesky: takes matrices, not [3]"},
      {OpCode::det, {f32({2, 3})}, NoAttrs{}, "det: takes square matrices, not [2, 3]"},
      {OpCode::svd, {f32({1, 20'000})}, FactorAttrs{}, "svd: a side of [1, 20000] exceeds 16384"},
      {OpCode::solve,
       {f32({2, 2}), f32({3, 1})},
       NoAttrs{},
       "solve: matrix [2, 2] and right-hand side [3, 1] do not fit"},
      {OpCode::solve,
       {f32({2, 2, 2}), f32({3, 2, 1})},
       NoAttrs{},
       "solve: matrix [2, 2, 2] and right-hand side [3, 2, 1] do not fit"},
      {OpCode::lu_factor, {i64({2, 2})}, NoAttrs{}, "lu_factor: does not take i64"},
      {OpCode::polygamma, {f32({2})}, OrderAttrs{-1}, "polygamma: order -1 is not in [0, 100]"},
      {OpCode::sort, {f32({2})}, SortAttrs{1, false}, "sort: axis 1 is out of range for rank 1"},
      {OpCode::cummax, {f32({})}, AxisAttrs{0}, "cummax: axis 0 is out of range for rank 0"},
      {OpCode::scatter,
       {f32({3}), i64({2}), f32({3})},
       AxisAttrs{0},
       "scatter: index [2] and source [3] differ"},
      {OpCode::scatter_reduce,
       {f32({3}), i64({2}), f32({2})},
       ScatterAttrs{0, 3},
       "scatter_reduce: reduction 3 is not in [0, 2]"},
      {OpCode::scatter,
       {f32({3}), f32({2}), f32({2})},
       AxisAttrs{0},
       "scatter: the index is f32; it must be i64"},
  };
  for (const Refusal& refusal : refusals) {
    const auto outputs = infer(op_info(refusal.code), refusal.inputs, refusal.attrs);
    ASSERT_FALSE(outputs.ok()) << refusal.message;
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(outputs.status().message(), refusal.message);
  }
}

}  // namespace
}  // namespace remora::test
