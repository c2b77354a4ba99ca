// Shape rules of matrix products, convolutions and pooling.
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/shape_rule_checks.h"
#include "dispatch/shape_rules.h"

namespace remora::dispatch::rules {
namespace {

/// Entries of stride, padding, dilation or kernel: two, within [min, kMaxElements].
absl::Status check_pair(const ShapeContext& context, std::string_view name, const Dims& pair,
                        int64_t min) {
  const bool good = pair.size() == 2 && pair[0] >= min && pair[1] >= min &&
                    pair[0] <= kMaxElements && pair[1] <= kMaxElements;
  if (good) return absl::OkStatus();
  return invalid(context, name, " ", Shape(pair).str(), " must have two entries of at least ", min);
}

absl::Status check_conv_attrs(const ShapeContext& context, const ConvAttrs& attrs) {
  REMORA_RETURN_IF_ERROR(check_pair(context, "stride", attrs.stride, 1));
  REMORA_RETURN_IF_ERROR(check_pair(context, "padding", attrs.padding, 0));
  REMORA_RETURN_IF_ERROR(check_pair(context, "dilation", attrs.dilation, 1));
  if (attrs.groups < 1) return invalid(context, "groups ", attrs.groups, " is less than 1");
  return absl::OkStatus();
}

/// Bytes and counts stay far from overflow when every factor is below this.
constexpr int64_t kMaxExtent = int64_t{1} << 31;

/// Windows along one axis. The sum of what is added stays below 2^63 by the bounds of its parts.
absl::StatusOr<int64_t> window_count(const ShapeContext& context, int64_t size, int64_t kernel,
                                     int64_t stride, int64_t padding, int64_t dilation,
                                     bool ceil_mode) {
  if (size > kMaxExtent || kernel > kMaxExtent || stride > kMaxExtent || padding > kMaxExtent ||
      dilation > kMaxExtent) {
    return invalid(context, "an extent exceeds ", kMaxExtent);
  }
  const int64_t reach = dilation * (kernel - 1) + 1;
  const int64_t room = size + 2 * padding - reach;
  if (kernel < 1 || room < 0) {
    return invalid(context, "a window of ", reach, " does not fit size ", size, " with padding ",
                   padding);
  }
  int64_t count = (ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
  // A window of ceil_mode must start inside the input or its left padding.
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  return count;
}

/// The shape of conv2d over `input` with `weight`.
absl::StatusOr<Shape> conv_shape(const ShapeContext& context, const Shape& input,
                                 const Shape& weight, const ConvAttrs& attrs) {
  REMORA_RETURN_IF_ERROR(check_conv_attrs(context, attrs));
  if (input.rank() != 4 || weight.rank() != 4) {
    return invalid(context, "input ", input.str(), " and weight ", weight.str(),
                   " must have rank 4");
  }
  if (weight[0] % attrs.groups != 0 || weight[1] > kMaxExtent || attrs.groups > kMaxExtent ||
      input[1] != weight[1] * attrs.groups) {
    return invalid(context, "input ", input.str(), " and weight ", weight.str(), " do not fit ",
                   attrs.groups, " groups: the input needs weight's axis 1 times groups channels");
  }
  Shape output{input[0], weight[0], 0, 0};
  for (int64_t i = 0; i < 2; ++i) {
    const auto k = static_cast<size_t>(i);
    REMORA_ASSIGN_OR_RETURN(output[2 + i],
                            window_count(context, input[2 + i], weight[2 + i], attrs.stride[k],
                                         attrs.padding[k], attrs.dilation[k], false));
  }
  return output;
}

/// A gradient op: its first operand must have the shape of the convolution's result.
absl::StatusOr<Specs> conv_gradient(const ShapeContext& context, const Shape& input,
                                    const Shape& weight) {
  const auto& attrs = std::get<ConvAttrs>(context.attrs);
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, 1));
  REMORA_RETURN_IF_ERROR(check_shape(attrs.shape));
  REMORA_ASSIGN_OR_RETURN(const Shape output, conv_shape(context, input, weight, attrs));
  if (output != context.inputs[0].shape) {
    return invalid(context, "the output gradient is ", context.inputs[0].shape.str(),
                   " where the convolution gives ", output.str());
  }
  return Specs{{context.inputs[0].dtype, attrs.shape}};
}

}  // namespace

absl::StatusOr<Specs> matmul(const ShapeContext& context) {
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, 1));
  const Shape& a = context.inputs[0].shape;
  const Shape& b = context.inputs[1].shape;
  if (a.rank() < 2 || a.rank() != b.rank()) {
    return invalid(context, "operands need the same rank of at least 2: ", a.str(), " x ", b.str());
  }
  const int64_t rank = a.rank();
  for (int64_t axis = 0; axis < rank - 2; ++axis) {
    if (a[axis] != b[axis]) return invalid(context, "batch axes differ: ", a.str(), " x ", b.str());
  }
  if (a[rank - 1] != b[rank - 2]) {
    return invalid(context, "inner dimensions differ: ", a.str(), " x ", b.str());
  }
  Spec output = context.inputs[0];
  output.shape[rank - 1] = b[rank - 1];
  return Specs{std::move(output)};
}

absl::StatusOr<Specs> conv2d(const ShapeContext& context) {
  const auto& attrs = std::get<ConvAttrs>(context.attrs);
  REMORA_RETURN_IF_ERROR(same_dtypes(context, 0, 1));
  if (attrs.shape.rank() != 0)
    return invalid(context, "shape is for the gradient ops and must be empty");
  REMORA_ASSIGN_OR_RETURN(
      Shape output, conv_shape(context, context.inputs[0].shape, context.inputs[1].shape, attrs));
  return Specs{{context.inputs[0].dtype, std::move(output)}};
}

absl::StatusOr<Specs> conv2d_input_grad(const ShapeContext& context) {
  const auto& attrs = std::get<ConvAttrs>(context.attrs);
  return conv_gradient(context, attrs.shape, context.inputs[1].shape);
}

absl::StatusOr<Specs> conv2d_weight_grad(const ShapeContext& context) {
  const auto& attrs = std::get<ConvAttrs>(context.attrs);
  return conv_gradient(context, context.inputs[1].shape, attrs.shape);
}

absl::StatusOr<Specs> max_pool2d(const ShapeContext& context) {
  const auto& attrs = std::get<PoolAttrs>(context.attrs);
  const Spec& input = context.inputs[0];
  REMORA_RETURN_IF_ERROR(check_pair(context, "kernel", attrs.kernel, 1));
  REMORA_RETURN_IF_ERROR(check_pair(context, "stride", attrs.stride, 1));
  REMORA_RETURN_IF_ERROR(check_pair(context, "padding", attrs.padding, 0));
  REMORA_RETURN_IF_ERROR(check_pair(context, "dilation", attrs.dilation, 1));
  if (input.shape.rank() != 4)
    return invalid(context, "input ", input.shape.str(), " must have rank 4");
  Spec output{input.dtype, {input.shape[0], input.shape[1], 0, 0}};
  for (int64_t i = 0; i < 2; ++i) {
    const auto k = static_cast<size_t>(i);
    if (2 * attrs.padding[k] > attrs.kernel[k]) {
      return invalid(context, "padding ", attrs.padding[k], " exceeds half the kernel ",
                     attrs.kernel[k]);
    }
    REMORA_ASSIGN_OR_RETURN(
        output.shape[2 + i],
        window_count(context, input.shape[2 + i], attrs.kernel[k], attrs.stride[k],
                     attrs.padding[k], attrs.dilation[k], attrs.ceil_mode));
  }
  return Specs{output, {DType::kI64, output.shape}};
}

absl::StatusOr<Specs> fft(const ShapeContext& context) {
  const Shape& shape = context.inputs[0].shape;
  if (shape.rank() < 2 || shape[shape.rank() - 1] != 2) {
    return invalid(context, "takes pairs [.., n, 2], not ", shape.str());
  }
  return Specs{context.inputs[0]};
}

}  // namespace remora::dispatch::rules
