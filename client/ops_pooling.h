// Windows over any number of axes: pooling in three dimensions, adaptive pooling and its inverse,
// resampling, normalization over neighbouring channels. The rules of ops.h hold; floats only.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

struct Pool3dOptions {
  std::optional<Dims> stride;  // three numbers, or one for all; the kernel unless given
  Dims padding = {0};
  Dims dilation = {1};
  bool ceil_mode = false;
};
/// Maximum of each window of [N, C, D, H, W] or [C, D, H, W]; padding counts as minus infinity.
Tensor max_pool3d(const Tensor& x, const Dims& kernel, const Pool3dOptions& options = {});
/// The same and the i64 index of each maximum in its flattened D * H * W volume.
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, const Dims& kernel,
                                                  const Pool3dOptions& options = {});

struct AvgPool3dOptions {
  std::optional<Dims> stride;
  Dims padding = {0};
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor;  // instead of the window's element count; not 0
};
/// Mean of each window of [N, C, D, H, W] or [C, D, H, W].
Tensor avg_pool3d(const Tensor& x, const Dims& kernel, const AvgPool3dOptions& options = {});

/// Sizes of the last axes of a result; nothing keeps a size, one entry stands for every axis.
using AdaptiveSizes = std::vector<std::optional<int64_t>>;
/// Mean over as many windows of nearly equal size: [N, C, L], [N, C, H, W], [N, C, D, H, W], N
/// optional.
Tensor adaptive_avg_pool1d(const Tensor& x, const AdaptiveSizes& sizes);
Tensor adaptive_avg_pool2d(const Tensor& x, const AdaptiveSizes& sizes);
Tensor adaptive_avg_pool3d(const Tensor& x, const AdaptiveSizes& sizes);
/// Maximum likewise, and its i64 index in the flattened last axes.
std::pair<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, const AdaptiveSizes& sizes);
std::pair<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, const AdaptiveSizes& sizes);
std::pair<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, const AdaptiveSizes& sizes);
/// The inverse of max pooling: zeros of `shape` with the elements of x at the flattened indices of
/// their last axes. An index that occurs twice must carry equal values; each of them receives the
/// gradient.
Tensor max_unpool(const Tensor& x, const Tensor& indices, const Shape& shape);

struct MaxUnpoolOptions {
  std::optional<Dims> stride = {};  // a number for each axis, or one for all; else the kernel
  Dims padding = {0};
  /// The size that was pooled, of the last axes or of all of them; within a stride of the least.
  std::optional<Dims> size = {};
};
/// `max_unpool` to the size that max pooling of those windows came from: (size - 1) stride - 2
/// padding + kernel along each axis unless `size` is given. [N, C, L], [N, C, H, W] and
/// [N, C, D, H, W], N optional.
Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const Dims& kernel,
                    const MaxUnpoolOptions& options = {});
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const Dims& kernel,
                    const MaxUnpoolOptions& options = {});
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const Dims& kernel,
                    const MaxUnpoolOptions& options = {});

/// [N, C, L] or [C, L] with weight [C, O / groups, K] and bias [O], which may be undefined.
struct ConvTranspose1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t output_padding = 0;
  int64_t groups = 1;
  int64_t dilation = 1;
};
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose1dOptions& options = {});

enum class Interpolation : uint8_t { kNearest, kNearestExact, kLinear, kCubic, kArea, kLanczos3 };
struct InterpolateOptions {
  std::optional<Dims> size;   // of the axes after the second; one number means all
  std::vector<double> scale;  // instead of `size`; one number means all
  Interpolation mode = Interpolation::kNearest;
  bool align_corners = false;  // linear, cubic, lanczos3: the corners' centres stay where they are
};
/// Resampled along the axes after the second of [N, C, ..]: linear in one, two or three of them,
/// cubic in one or two (Keys, a = -0.75), lanczos3 in any number: six taps of sinc(t) sinc(t / 3);
/// those beyond the ends do not count, and the others' weights are divided by their sum. What is
/// made smaller is not filtered first, in any mode but area.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

/// x / (k + alpha * mean of x^2 over `size` neighbouring channels (axis 1))^beta, zeros beyond the
/// ends.
Tensor local_response_norm(const Tensor& x, int64_t size, double alpha = 1e-4, double beta = 0.75,
                           double k = 1.0);

}  // namespace remora
