#include "client/ops_volumes.h"

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;

/// Depth, height and width; one number stands for all.
Dims triple(std::string_view function, std::string_view name, const Dims& values, int64_t lowest) {
  if (values.size() != 1 && values.size() != 3) {
    refuse(function, str_cat(name, " takes one number or three, not ", values.size()));
  }
  for (const int64_t value : values) {
    if (value < lowest || value > kMaxExtent) {
      refuse(function, str_cat(name, " has the size ", value));
    }
  }
  return values.size() == 3 ? values : Dims(3, values[0]);
}

/// x as [N, C, D, H, W].
Tensor batched_volumes(std::string_view function, const Tensor& x, const Tensor& weight) {
  require_float(function, x.dtype());
  if (x.rank() != 4 && x.rank() != 5) {
    refuse(function, str_cat("takes [N, C, D, H, W] or [C, D, H, W], not ", x.shape().str()));
  }
  if (weight.rank() != 5) {
    refuse(function,
           str_cat("the weight has shape ", weight.shape().str(), "; it needs five axes"));
  }
  return x.rank() == 4 ? unsqueeze(x, 0) : x;
}

/// [N, C, D, H, W] as the planes [N * D, C, H, W].
Tensor planes_of(const Tensor& volumes) {
  const Tensor moved = permute(volumes, {0, 2, 1, 3, 4});
  return reshape(moved, {volumes.size(0) * volumes.size(2), volumes.size(1), volumes.size(3),
                         volumes.size(4)});
}

/// The reverse, of `depth` planes each.
Tensor volumes_of(const Tensor& planes, int64_t batch, int64_t depth) {
  const Tensor split =
      reshape(planes, {batch, depth, planes.size(1), planes.size(2), planes.size(3)});
  return permute(split, {0, 2, 1, 3, 4});
}

Tensor finished(std::string_view function, const Tensor& result, const Tensor& bias,
                const Tensor& x) {
  Tensor biased = result;
  if (bias.defined()) {
    if (bias.rank() != 1 || bias.numel() != result.size(1)) {
      refuse(function, str_cat("bias ", bias.shape().str(), " does not fit ", result.size(1),
                               " output channels"));
    }
    biased = result + reshape(bias, {1, bias.numel(), 1, 1, 1});
  }
  return x.rank() == 4 ? squeeze(biased, 0) : biased;
}

}  // namespace

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv3dOptions& options) {
  const CallScope scope;
  const Tensor volumes = batched_volumes("conv3d", x, weight);
  const Dims stride = triple("conv3d", "stride", options.stride, 1);
  const Dims padding = triple("conv3d", "padding", options.padding, 0);
  const Dims dilation = triple("conv3d", "dilation", options.dilation, 1);
  const int64_t kernel = weight.size(2);
  const int64_t reach = dilation[0] * (kernel - 1) + 1;
  const int64_t room = volumes.size(2) + 2 * padding[0] - reach;
  if (kernel < 1 || room < 0) {
    refuse("conv3d", str_cat("a window of depth ", reach, " does not fit ", x.shape().str(),
                             " with padding ", padding[0]));
  }
  const int64_t depth = room / stride[0] + 1;
  const Tensor padded =
      padding[0] == 0 ? volumes : pad(volumes, {0, 0, 0, 0, padding[0], padding[0]});
  const Conv2dOptions flat{
      {stride[1], stride[2]}, {padding[1], padding[2]}, {dilation[1], dilation[2]}, options.groups};
  Tensor sum;
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t first = k * dilation[0];
    const Tensor slab = slice(padded, 2, first, first + (depth - 1) * stride[0] + 1, stride[0]);
    const Tensor part = conv2d(planes_of(slab), select(weight, 2, k), Tensor(), flat);
    sum = sum.defined() ? sum + part : part;
  }
  return finished("conv3d", volumes_of(sum, volumes.size(0), depth), bias, x);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose3dOptions& options) {
  const CallScope scope;
  const Tensor volumes = batched_volumes("conv_transpose3d", x, weight);
  const Dims stride = triple("conv_transpose3d", "stride", options.stride, 1);
  const Dims padding = triple("conv_transpose3d", "padding", options.padding, 0);
  const Dims extra = triple("conv_transpose3d", "output_padding", options.output_padding, 0);
  const Dims dilation = triple("conv_transpose3d", "dilation", options.dilation, 1);
  if (extra[0] >= std::max(stride[0], dilation[0])) {
    refuse("conv_transpose3d",
           str_cat("output_padding ", extra[0], " is not below the stride or the dilation"));
  }
  const int64_t count = volumes.size(2);
  const int64_t spread = (count - 1) * stride[0] + dilation[0] * (weight.size(2) - 1) + 1;
  const int64_t depth = spread - 2 * padding[0] + extra[0];
  if (count < 1 || weight.size(2) < 1 || depth < 1) {
    refuse("conv_transpose3d", str_cat("the result would have depth ", depth));
  }
  const ConvTranspose2dOptions flat{{stride[1], stride[2]},
                                    {padding[1], padding[2]},
                                    {extra[1], extra[2]},
                                    options.groups,
                                    {dilation[1], dilation[2]}};
  const Tensor planes = planes_of(volumes);
  Tensor whole;  // with the padding that is cut off at last
  for (int64_t k = 0; k < weight.size(2); ++k) {
    const Tensor part = volumes_of(conv_transpose2d(planes, select(weight, 2, k), Tensor(), flat),
                                   volumes.size(0), count);
    if (!whole.defined()) {
      Shape shape = part.shape();
      shape[2] = spread + extra[0];
      whole = new_zeros(part.inner(), shape);
    }
    const int64_t first = k * dilation[0];
    const int64_t end = first + (count - 1) * stride[0] + 1;
    const Tensor before = slice(whole, 2, first, end, stride[0]);
    whole = slice_assign(whole, before + part, 2, first, end, stride[0]);
  }
  return finished("conv_transpose3d", narrow(whole, 2, padding[0], depth), bias, x);
}

}  // namespace remora
