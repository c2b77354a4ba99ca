// Sampling at given points and bags of table rows. The rules of ops.h hold; floats only.
#pragma once

#include <optional>
#include <string_view>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// [N, C, H, W] (or [N, C, D, H, W]) at the points of a grid [N, H', W', 2] (or [N, D', H', W',
/// 3]), whose last axis is (x, y) (or (x, y, z)) with -1 and 1 at the ends of each axis: the outer
/// edges of the corner elements, their centres with `align_corners`. `mode` is "bilinear" (linear
/// in three dimensions too) or "nearest"; beyond the ends `padding` gives "zeros", the "border" or
/// its "reflection".
Tensor grid_sample(const Tensor& x, const Tensor& grid, std::string_view mode = "bilinear",
                   std::string_view padding = "zeros", bool align_corners = false);

struct DeformConv2dOptions {
  Extent2d stride = 1;
  Extent2d padding = 0;
  Extent2d dilation = 1;
  Tensor mask = {};  // [N, G KH KW, OH, OW]: factors of the samples; undefined: ones
};
/// conv2d of [N, C, H, W] with weight [O, C / groups, KH, KW] and bias [O], which may be undefined,
/// whose taps are moved by `offset` [N, 2 G KH KW, OH, OW]: for each of G groups of channels and
/// each tap first along H, then along W, in elements. Samples are bilinear, zero outside. Zhu et
/// al., "Deformable ConvNets v2", 2019; arguments as torchvision's.
Tensor deform_conv2d(const Tensor& x, const Tensor& offset, const Tensor& weight,
                     const Tensor& bias = {}, const DeformConv2dOptions& options = {});

/// Table rows [count, width] reduced by bag, "sum", "mean" or "max": each row of a rank-2 index is
/// a bag, or those of a rank-1 index begin at `offsets`, the last of which is the end of the last
/// bag with `include_last_offset`. Empty bags give 0. `weights`, in the index's shape, may be
/// undefined and go with "sum" only. Rows of index `padding_index` do not count.
Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets = {},
                     std::string_view mode = "mean", const Tensor& weights = {},
                     bool include_last_offset = false,
                     std::optional<int64_t> padding_index = std::nullopt);

}  // namespace remora
