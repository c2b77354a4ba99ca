// What a caller is told when operands do not fit. Results that fit are proved by every case of
// tests/op_cases.
#include "dispatch/shape_rules.h"

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

Spec f32(Shape shape) { return {DType::kF32, std::move(shape)}; }
Spec i64(Shape shape) { return {DType::kI64, std::move(shape)}; }
Spec boolean(Shape shape) { return {DType::kBool, std::move(shape)}; }

struct Refusal {
  OpCode code;
  std::vector<Spec> inputs;
  Attrs attrs;
  const char* message;
};

TEST(ShapeRules, refusals_name_op_shapes_and_what_would_be_right) {
  const Refusal refusals[] = {
      {OpCode::matmul,
       {f32({2, 3}), f32({4, 5})},
       NoAttrs{},
       "matmul: inner dimensions differ: [2, 3] x [4, 5]"},
      {OpCode::matmul,
       {f32({2, 2, 3}), f32({3, 3, 5})},
       NoAttrs{},
       "matmul: batch axes differ: [2, 2, 3] x [3, 3, 5]"},
      {OpCode::matmul,
       {f32({3}), f32({3})},
       NoAttrs{},
       "matmul: operands need the same rank of at least 2: [3] x [3]"},
      {OpCode::add,
       {f32({2, 3}), f32({2, 4})},
       NoAttrs{},
       "add: shapes do not broadcast: [2, 3] and [2, 4]"},
      {OpCode::add,
       {f32({2}), i64({2})},
       NoAttrs{},
       "add: operands have different dtypes: f32 and i64"},
      {OpCode::exp, {i64({2})}, NoAttrs{}, "exp: does not take i64"},
      {OpCode::neg, {boolean({2})}, NoAttrs{}, "neg: does not take bool"},
      {OpCode::add, {f32({2})}, NoAttrs{}, "add: 1 operands where 2 are needed"},
      {OpCode::concat, {}, AxisAttrs{0}, "concat: 0 operands; 1 to 1024 are allowed"},
      {OpCode::sum, {f32({2, 3})}, NoAttrs{}, "sum: attributes of another operation"},
      {OpCode::sum,
       {f32({2, 3})},
       ReduceAttrs{{2}, false},
       "sum: axis 2 is out of range for rank 2"},
      {OpCode::sum,
       {f32({2, 3})},
       ReduceAttrs{{-1}, false},
       "sum: axis -1 is out of range for rank 2"},
      {OpCode::sum,
       {f32({2, 3})},
       ReduceAttrs{{1, 0}, false},
       "sum: axes [1, 0] are not ascending and distinct"},
      {OpCode::amax,
       {f32({2, 0})},
       ReduceAttrs{{1}, false},
       "amax: axis 1 of [2, 0] is empty and has no such element"},
      {OpCode::argmax,
       {f32({0})},
       ArgReduceAttrs{0, false},
       "argmax: axis 0 of [0] is empty and has no such element"},
      {OpCode::reshape,
       {f32({2, 3})},
       ShapeAttrs{{4}},
       "reshape: [2, 3] has 6 elements and does not fit [4]"},
      {OpCode::permute,
       {f32({2, 3})},
       PermuteAttrs{{0, 0}},
       "permute: axes [0, 0] are not a permutation of rank 2"},
      {OpCode::broadcast_to,
       {f32({2})},
       ShapeAttrs{{3}},
       "broadcast_to: [2] does not broadcast to [3]"},
      {OpCode::slice,
       {f32({5})},
       SliceAttrs{{0}, {2}, {4}},
       "slice: size 4 with step 2 does not fit axis 0 of [5]"},
      {OpCode::slice,
       {f32({5})},
       SliceAttrs{{0}, {0}, {1}},
       "slice: step 0 of axis 0 is zero or too large"},
      {OpCode::slice_assign,
       {f32({5}), f32({2})},
       SliceAttrs{{0}, {1}, {3}},
       "slice_assign: the box is [3] and the source [2]"},
      {OpCode::concat,
       {f32({2, 3}), f32({2, 4})},
       AxisAttrs{0},
       "concat: shapes differ outside axis 0: [2, 3] and [2, 4]"},
      {OpCode::gather,
       {f32({2, 3}), f32({2, 3})},
       AxisAttrs{1},
       "gather: the index is f32; it must be i64"},
      {OpCode::gather,
       {f32({2, 3}), i64({3, 3})},
       AxisAttrs{1},
       "gather: index [3, 3] does not fit [2, 3] outside axis 1"},
      {OpCode::scatter_add,
       {f32({2, 3}), i64({2, 1}), f32({2, 2})},
       AxisAttrs{1},
       "scatter_add: index [2, 1] and source [2, 2] differ"},
      {OpCode::where,
       {f32({2}), f32({2}), f32({2})},
       NoAttrs{},
       "where: the condition is f32; it must be bool"},
      {OpCode::softmax, {f32({})}, AxisAttrs{0}, "softmax: axis 0 is out of range for rank 0"},
      {OpCode::max_pool2d,
       {f32({1, 1, 4, 4})},
       PoolAttrs{{2, 2}, {2, 2}, {2, 2}, {1, 1}, false},
       "max_pool2d: padding 2 exceeds half the kernel 2"},
  };
  for (const Refusal& refusal : refusals) {
    const auto result = infer(op_info(refusal.code), refusal.inputs, refusal.attrs);
    ASSERT_FALSE(result.ok()) << refusal.message;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(result.status().message(), refusal.message);
  }
}

TEST(ShapeRules, a_convolution_that_does_not_fit_is_refused) {
  const OpInfo& conv = op_info(OpCode::conv2d);
  const auto status = [&](std::vector<Spec> inputs, ConvAttrs attrs) {
    return infer(conv, inputs, attrs).status();
  };
  EXPECT_TRUE(fails_with(status({f32({1, 3, 4, 4}), f32({2, 4, 3, 3})}, {}),
                         absl::StatusCode::kInvalidArgument,
                         {"conv2d", "[1, 3, 4, 4]", "[2, 4, 3, 3]"}));
  EXPECT_FALSE(status({f32({1, 3, 4, 4}), f32({2, 3, 5, 5})}, {}).ok())
      << "the window is too large";
  EXPECT_FALSE(status({f32({1, 4, 4, 4}), f32({3, 2, 2, 2})}, {{1, 1}, {0, 0}, {1, 1}, 2, {}}).ok())
      << "3 outputs in 2 groups";
  EXPECT_FALSE(
      status({f32({1, 1, 4, 4}), f32({1, 1, 2, 2})}, {{0, 1}, {0, 0}, {1, 1}, 1, {}}).ok());
  EXPECT_FALSE(
      status({f32({1, 1, 4, 4}), f32({1, 1, 2, 2})}, {{1, 1}, {-1, 0}, {1, 1}, 1, {}}).ok());
  EXPECT_FALSE(status({f32({1, 1, 4, 4}), f32({1, 1, 2, 2})}, {{1}, {0, 0}, {1, 1}, 1, {}}).ok());
  EXPECT_FALSE(
      status({f32({1, 1, 4, 4}), f32({1, 1, 2, 2})}, {{1, 1}, {0, 0}, {1, 1}, 0, {}}).ok());
}

TEST(ShapeRules, numbers_at_the_end_of_their_range_are_refused_and_never_wrap) {
  const int64_t huge[] = {INT64_MAX, INT64_MIN, INT64_MAX / 2, int64_t{1} << 48};
  for (const int64_t n : huge) {
    EXPECT_FALSE(infer(op_info(OpCode::full), {}, FullAttrs{DType::kF32, {n, n}, 0}).ok());
    EXPECT_FALSE(infer(op_info(OpCode::arange), {},
                       ArangeAttrs{DType::kI64, n == int64_t{1} << 48 ? n + 1 : n, 0, 1})
                     .ok());
    const std::vector<Spec> one = {f32({4})};
    EXPECT_FALSE(infer(op_info(OpCode::slice), one, SliceAttrs{{0}, {1}, {n}}).ok());
    EXPECT_FALSE(infer(op_info(OpCode::slice), one, SliceAttrs{{0}, {n}, {2}}).ok());
    EXPECT_FALSE(infer(op_info(OpCode::sum), one, ReduceAttrs{{n}, false}).ok());
    EXPECT_FALSE(infer(op_info(OpCode::reshape), one, ShapeAttrs{{n, n, 4}}).ok());
    const std::vector<Spec> image = {f32({1, 1, 4, 4})};
    EXPECT_FALSE(
        infer(op_info(OpCode::max_pool2d), image, PoolAttrs{{n, 1}, {1, 1}, {0, 0}, {1, 1}, true})
            .ok());
    EXPECT_FALSE(
        infer(op_info(OpCode::max_pool2d), image, PoolAttrs{{2, 2}, {1, 1}, {0, 0}, {n, n}, true})
            .ok());
    const std::vector<Spec> both = {f32({1, 1, 4, 4}), f32({1, 1, 2, 2})};
    EXPECT_FALSE(
        infer(op_info(OpCode::conv2d), both, ConvAttrs{{1, 1}, {n, n}, {1, 1}, 1, {}}).ok());
    EXPECT_FALSE(
        infer(op_info(OpCode::conv2d), both, ConvAttrs{{1, 1}, {0, 0}, {n, n}, 1, {}}).ok());
    EXPECT_FALSE(
        infer(op_info(OpCode::conv2d), both, ConvAttrs{{1, 1}, {0, 0}, {1, 1}, n, {}}).ok());
  }
}

TEST(ShapeRules, catalogue_finds_rows_by_number_and_name) {
  EXPECT_FALSE(catalogue().empty());
  for (const OpInfo& row : catalogue()) {
    EXPECT_EQ(find_op(static_cast<uint64_t>(row.code)), &row);
    EXPECT_EQ(find_op(row.name), &row);
    EXPECT_EQ(&op_info(row.code), &row);
  }
  EXPECT_EQ(find_op(uint64_t{0}), nullptr);
  EXPECT_EQ(find_op(~uint64_t{0}), nullptr);
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

}  // namespace
}  // namespace remora::test
