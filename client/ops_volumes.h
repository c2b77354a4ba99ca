// Convolution in three dimensions: sums of convolutions of slices along the first of them. The
// rules of ops.h hold; floats only.
#pragma once

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

/// Sizes are three numbers, or one for all.
struct Conv3dOptions {
  Dims stride = {1};
  Dims padding = {0};
  Dims dilation = {1};
  int64_t groups = 1;
};
/// [N, C, D, H, W] or [C, D, H, W] with weight [O, C / groups, KD, KH, KW] and bias [O], which may
/// be undefined.
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv3dOptions& options = {});

struct ConvTranspose3dOptions {
  Dims stride = {1};
  Dims padding = {0};
  Dims output_padding = {0};
  int64_t groups = 1;
  Dims dilation = {1};
};
/// The gradient of conv3d by its input, as a layer: [N, C, D, H, W] or [C, D, H, W] with weight
/// [C, O / groups, KD, KH, KW] and bias [O], which may be undefined.
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose3dOptions& options = {});

}  // namespace remora
