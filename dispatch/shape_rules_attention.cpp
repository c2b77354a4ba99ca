// Shape rules of attention and its gradients.
#include "dispatch/error.h"
#include "dispatch/shape_rule_checks.h"
#include "dispatch/shape_rules.h"

namespace remora::dispatch::rules {
namespace {

/// Queries or keys: rows without elements take no memory, but time.
constexpr int64_t kMaxSequence = int64_t{1} << 31;

/// Query, key, value and perhaps a mask, from `first` on.
absl::Status check_operands(const ShapeContext& context, size_t first) {
  const size_t count = context.inputs.size();
  if (count != first + 3 && count != first + 4) {
    return invalid(context, "takes ", first + 3, " or ", first + 4, " operands, not ", count);
  }
  const Shape& q = context.inputs[first].shape;
  const Shape& k = context.inputs[first + 1].shape;
  const Shape& v = context.inputs[first + 2].shape;
  REMORA_RETURN_IF_ERROR(same_dtypes(context, first, first + 1));
  REMORA_RETURN_IF_ERROR(same_dtypes(context, first, first + 2));
  const bool fits = q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && q[0] == k[0] &&
                    q[0] == v[0] && k[1] == v[1] && q[3] == k[3] && k[2] == v[2] &&
                    (k[1] == 0 ? q[1] == 0 : q[1] > 0 && q[1] % k[1] == 0);
  if (!fits) {
    return invalid(context, "query ", q.str(), ", key ", k.str(), " and value ", v.str(),
                   " do not fit [N, G H, L, E], [N, H, S, E] and [N, H, S, V]");
  }
  if (q[2] > kMaxSequence || k[2] > kMaxSequence) {
    return invalid(context, q[2], " queries and ", k[2], " keys; the limit is ", kMaxSequence);
  }
  if (count == first + 3) return absl::OkStatus();
  const Spec& mask = context.inputs[first + 3];
  if (mask.dtype != DType::kBool) REMORA_RETURN_IF_ERROR(same_dtypes(context, first, first + 3));
  const Shape scores = {q[0], q[1], q[2], k[2]};
  bool broadcasts = mask.shape.rank() == 4;
  for (int64_t axis = 0; broadcasts && axis < 4; ++axis) {
    broadcasts = mask.shape[axis] == 1 || mask.shape[axis] == scores[axis];
  }
  if (broadcasts) return absl::OkStatus();
  return invalid(context, "the mask ", mask.shape.str(), " does not broadcast to ", scores.str());
}

/// The logarithms of the rows' sums: never in 16 bits.
Spec sums_of(const Spec& query) {
  const Shape& q = query.shape;
  return {is_half(query.dtype) ? DType::kF32 : query.dtype, {q[0], q[1], q[2]}};
}

Spec output_of(const Spec& query, const Spec& value) {
  const Shape& q = query.shape;
  return {query.dtype, {q[0], q[1], q[2], value.shape[3]}};
}

}  // namespace

absl::StatusOr<Specs> attention(const ShapeContext& context) {
  REMORA_RETURN_IF_ERROR(check_operands(context, 0));
  return Specs{output_of(context.inputs[0], context.inputs[2]), sums_of(context.inputs[0])};
}

absl::StatusOr<Specs> attention_grad(const ShapeContext& context) {
  REMORA_RETURN_IF_ERROR(check_operands(context, 3));
  const std::span<const Spec> inputs = context.inputs;
  const Spec output = output_of(inputs[3], inputs[5]);
  const Spec sums = sums_of(inputs[3]);
  if (inputs[0] != output || inputs[1] != sums || inputs[2] != sums) {
    return invalid(context, "gradient ", inputs[0].str(), " and sums ", inputs[1].str(), " and ",
                   inputs[2].str(), " do not fit ", output.str(), " and ", sums.str());
  }
  return Specs{inputs[3], inputs[4], inputs[5]};
}

}  // namespace remora::dispatch::rules
