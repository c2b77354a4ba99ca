// Estimates of work: right for products, and in the order in which ops are really dear.
#include "dispatch/op_work.h"

#include <vector>

#include "gtest/gtest.h"

namespace remora::dispatch {
namespace {

OpWork work_of(OpCode code, const std::vector<Shape>& inputs, const Attrs& attrs = NoAttrs{}) {
  std::vector<Spec> specs;
  for (const Shape& shape : inputs) specs.push_back({DType::kF32, shape});
  const Specs outputs = infer(op_info(code), specs, attrs).value();
  return op_work(op_info(code), specs, outputs);
}

TEST(OpWork, of_products_is_two_operations_a_term) {
  EXPECT_DOUBLE_EQ(work_of(OpCode::matmul, {{3, 5}, {5, 7}}).flops, 2 * 3 * 5 * 7);
  EXPECT_DOUBLE_EQ(work_of(OpCode::matmul, {{4, 2, 3, 5}, {4, 2, 5, 7}}).flops, 2 * 8 * 3 * 5 * 7);
  EXPECT_DOUBLE_EQ(work_of(OpCode::matmul, {{3, 0}, {0, 7}}).flops, 0);
}

TEST(OpWork, moves_operands_and_results) {
  EXPECT_DOUBLE_EQ(work_of(OpCode::add, {{6, 4}, {4}}).bytes, (24 + 4 + 24) * 4);
}

TEST(OpWork, orders_families_by_what_they_cost_for_each_byte) {
  const Shape matrix = {256, 256};
  const double sum = work_of(OpCode::add, {matrix, matrix}).flops;
  const double function = work_of(OpCode::erf, {matrix}).flops;
  const double product = work_of(OpCode::matmul, {matrix, matrix}).flops;
  const double factors = work_of(OpCode::cholesky, {matrix}).flops;
  EXPECT_LT(sum, function);
  EXPECT_LT(function, product);
  EXPECT_LT(product, factors);
  const Shape heads = {2, 4, 128, 32};
  const double attention =
      work_of(OpCode::attention, {heads, heads, heads}, AttentionAttrs{}).flops;
  EXPECT_GT(attention, 2 * work_of(OpCode::matmul, {heads, {2, 4, 32, 128}}).flops);
}

TEST(OpWork, every_row_has_one) {
  for (const OpInfo& row : catalogue()) {
    const std::vector<Spec> inputs(static_cast<size_t>(row.inputs < 0 ? 4 : row.inputs),
                                   Spec{DType::kF32, {2, 2, 4, 4}});
    const std::vector<Spec> outputs(static_cast<size_t>(row.outputs),
                                    Spec{DType::kF32, {2, 2, 4, 4}});
    const OpWork work = op_work(row, inputs, outputs);
    EXPECT_GT(work.bytes, 0.0) << row.name;
    EXPECT_GT(work.flops, 0.0) << row.name;
  }
}

}  // namespace
}  // namespace remora::dispatch
