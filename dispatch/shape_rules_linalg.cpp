// Shape rules of factorisations and solvers: matrices are the last two axes, the others are a
// batch.
#include <algorithm>

#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/shape_rule_checks.h"
#include "dispatch/shape_rules.h"

namespace remora::dispatch::rules {
namespace {

absl::Status check_matrix(const ShapeContext& context, const Shape& shape) {
  const int64_t rank = shape.rank();
  if (rank < 2) return invalid(context, "takes matrices, not ", shape.str());
  if (shape[rank - 1] > kMaxMatrixSide || shape[rank - 2] > kMaxMatrixSide) {
    return invalid(context, "a side of ", shape.str(), " exceeds ", kMaxMatrixSide);
  }
  return absl::OkStatus();
}

absl::Status check_square(const ShapeContext& context, const Shape& shape) {
  REMORA_RETURN_IF_ERROR(check_matrix(context, shape));
  const int64_t rank = shape.rank();
  if (shape[rank - 1] == shape[rank - 2]) return absl::OkStatus();
  return invalid(context, "takes square matrices, not ", shape.str());
}

/// The batch axes followed by `last`.
Shape batch_and(const Shape& shape, std::initializer_list<int64_t> last) {
  Shape result;
  for (int64_t axis = 0; axis + 2 < shape.rank(); ++axis) {
    result.sizes().push_back(shape[axis]);
  }
  for (const int64_t size : last) result.sizes().push_back(size);
  return result;
}

}  // namespace

absl::StatusOr<Specs> square_matrix(const ShapeContext& context) {
  REMORA_RETURN_IF_ERROR(check_square(context, context.inputs[0].shape));
  return Specs{context.inputs[0]};
}

absl::StatusOr<Specs> solve_matrix(const ShapeContext& context) {
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, 1));
  const Shape& a = context.inputs[0].shape;
  const Shape& b = context.inputs[1].shape;
  REMORA_RETURN_IF_ERROR(check_square(context, a));
  REMORA_RETURN_IF_ERROR(check_matrix(context, b));
  if (a.rank() != b.rank() || batch_and(a, {b[b.rank() - 1]}) != batch_and(b, {b[b.rank() - 1]}) ||
      a[a.rank() - 1] != b[b.rank() - 2]) {
    return invalid(context, "matrix ", a.str(), " and right-hand side ", b.str(), " do not fit");
  }
  return Specs{context.inputs[1]};
}

absl::StatusOr<Specs> lu_factor(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_square(context, input.shape));
  return Specs{input,
               {DType::kI64, batch_and(input.shape, {input.shape[input.shape.rank() - 1]})},
               {input.dtype, batch_and(input.shape, {})}};
}

absl::StatusOr<Specs> qr(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_matrix(context, input.shape));
  const int64_t rows = input.shape[input.shape.rank() - 2];
  const int64_t columns = input.shape[input.shape.rank() - 1];
  const int64_t inner = std::get<FactorAttrs>(context.attrs).full ? rows : std::min(rows, columns);
  return Specs{{input.dtype, batch_and(input.shape, {rows, inner})},
               {input.dtype, batch_and(input.shape, {inner, columns})}};
}

absl::StatusOr<Specs> eigh(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_square(context, input.shape));
  return Specs{{input.dtype, batch_and(input.shape, {input.shape[input.shape.rank() - 1]})}, input};
}

absl::StatusOr<Specs> svd(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_matrix(context, input.shape));
  const bool full = std::get<FactorAttrs>(context.attrs).full;
  const int64_t rows = input.shape[input.shape.rank() - 2];
  const int64_t columns = input.shape[input.shape.rank() - 1];
  const int64_t inner = std::min(rows, columns);
  return Specs{{input.dtype, batch_and(input.shape, {rows, full ? rows : inner})},
               {input.dtype, batch_and(input.shape, {inner})},
               {input.dtype, batch_and(input.shape, {full ? columns : inner, columns})}};
}

absl::StatusOr<Specs> pinv(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_matrix(context, input.shape));
  const int64_t rank = input.shape.rank();
  return Specs{
      {input.dtype, batch_and(input.shape, {input.shape[rank - 1], input.shape[rank - 2]})}};
}

absl::StatusOr<Specs> det(const ShapeContext& context) {
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_square(context, input.shape));
  return Specs{{input.dtype, batch_and(input.shape, {})}};
}

}  // namespace remora::dispatch::rules
