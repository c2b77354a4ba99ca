// The shape rules named in ops.def: each gives the Specs of an op's outputs, or INVALID_ARGUMENT.
// The operand count and attribute type have been checked by `infer`. Pure functions.
#pragma once

#include "dispatch/op.h"

namespace remora::dispatch::rules {

absl::StatusOr<Specs> elementwise(const ShapeContext& context);
absl::StatusOr<Specs> elementwise_truth(const ShapeContext& context);
absl::StatusOr<Specs> where(const ShapeContext& context);
absl::StatusOr<Specs> same(const ShapeContext& context);
absl::StatusOr<Specs> full(const ShapeContext& context);
absl::StatusOr<Specs> arange(const ShapeContext& context);
absl::StatusOr<Specs> random(const ShapeContext& context);
absl::StatusOr<Specs> astype(const ShapeContext& context);
absl::StatusOr<Specs> reduce(const ShapeContext& context);
absl::StatusOr<Specs> reduce_nonempty(const ShapeContext& context);
absl::StatusOr<Specs> arg_reduce(const ShapeContext& context);
absl::StatusOr<Specs> reshape(const ShapeContext& context);
absl::StatusOr<Specs> permute(const ShapeContext& context);
absl::StatusOr<Specs> broadcast_to(const ShapeContext& context);
absl::StatusOr<Specs> slice(const ShapeContext& context);
absl::StatusOr<Specs> slice_assign(const ShapeContext& context);
absl::StatusOr<Specs> concat(const ShapeContext& context);
absl::StatusOr<Specs> gather(const ShapeContext& context);
absl::StatusOr<Specs> scatter_add(const ShapeContext& context);
absl::StatusOr<Specs> matmul(const ShapeContext& context);
absl::StatusOr<Specs> conv2d(const ShapeContext& context);
absl::StatusOr<Specs> conv2d_input_grad(const ShapeContext& context);
absl::StatusOr<Specs> conv2d_weight_grad(const ShapeContext& context);
absl::StatusOr<Specs> max_pool2d(const ShapeContext& context);
absl::StatusOr<Specs> polygamma(const ShapeContext& context);
absl::StatusOr<Specs> with_index(const ShapeContext& context);
absl::StatusOr<Specs> scatter(const ShapeContext& context);
absl::StatusOr<Specs> square_matrix(const ShapeContext& context);
absl::StatusOr<Specs> solve_matrix(const ShapeContext& context);
absl::StatusOr<Specs> lu_factor(const ShapeContext& context);
absl::StatusOr<Specs> fft(const ShapeContext& context);
absl::StatusOr<Specs> attention(const ShapeContext& context);
absl::StatusOr<Specs> attention_grad(const ShapeContext& context);
absl::StatusOr<Specs> qr(const ShapeContext& context);
absl::StatusOr<Specs> eigh(const ShapeContext& context);
absl::StatusOr<Specs> svd(const ShapeContext& context);
absl::StatusOr<Specs> pinv(const ShapeContext& context);
absl::StatusOr<Specs> det(const ShapeContext& context);

}  // namespace remora::dispatch::rules
