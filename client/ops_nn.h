// The operations of neural networks: layers without state, activations and losses. The rules of
// ops.h hold; floats only unless said otherwise.
#pragma once

#include <optional>
#include <utility>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

// -- activations

Tensor relu(const Tensor& x);  ///< numbers; gradient at 0: 0
Tensor relu6(const Tensor& x);
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
Tensor prelu(const Tensor& x,
             const Tensor& weight);  ///< weight: one, or one for each channel (axis 1)
Tensor elu(const Tensor& x, double alpha = 1.0);
Tensor celu(const Tensor& x, double alpha = 1.0);
Tensor selu(const Tensor& x);
enum class GeluForm : uint8_t { kErf, kTanh };
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::kErf);
Tensor silu(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
Tensor softsign(const Tensor& x);
Tensor softshrink(const Tensor& x, double lambda = 0.5);
Tensor hardshrink(const Tensor& x, double lambda = 0.5);
Tensor tanhshrink(const Tensor& x);
Tensor hardsigmoid(const Tensor& x);
Tensor hardswish(const Tensor& x);
Tensor hardtanh(const Tensor& x, double low = -1.0, double high = 1.0);
Tensor logsigmoid(const Tensor& x);
/// x where x > limit, else value.
Tensor threshold(const Tensor& x, double limit, double value);
/// The first half of `axis` times the sigmoid of the second; its size must be even.
Tensor glu(const Tensor& x, int64_t axis = -1);
/// exp(x - max) / sum along `axis`. Float functions.
Tensor softmax(const Tensor& x, int64_t axis);
Tensor softmin(const Tensor& x, int64_t axis);
Tensor log_softmax(const Tensor& x, int64_t axis);

// -- layers

/// x @ weight^T + bias: [..., in], [out, in], [out] -> [..., out]. `bias` may be undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// Rows of a [count, width] table: i64 index of any shape -> [..., width].
Tensor embedding(const Tensor& weight, const Tensor& index);

struct Conv2dOptions {
  Extent2d stride = 1;
  Extent2d padding = 0;
  Extent2d dilation = 1;
  int64_t groups = 1;
};
/// [N, C, H, W] or [C, H, W] with weight [O, C / groups, KH, KW] and bias [O], which may be
/// undefined.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv2dOptions& options = {});

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
};
/// [N, C, L] or [C, L] with weight [O, C / groups, K] and bias [O], which may be undefined.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv1dOptions& options = {});

struct ConvTranspose2dOptions {
  Extent2d stride = 1;
  Extent2d padding = 0;
  Extent2d output_padding = 0;
  int64_t groups = 1;
  Extent2d dilation = 1;
};
/// The gradient of conv2d by its input, as a layer: [N, C, H, W] or [C, H, W] with weight
/// [C, O / groups, KH, KW] and bias [O], which may be undefined.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});

struct Pool2dOptions {
  std::optional<Extent2d> stride = {};  // the kernel unless given
  Extent2d padding = 0;
  Extent2d dilation = 1;
  bool ceil_mode = false;
};
/// Maximum of each window of [N, C, H, W] or [C, H, W]; padding counts as minus infinity.
Tensor max_pool2d(const Tensor& x, const Extent2d& kernel, const Pool2dOptions& options = {});
/// The same and the i64 index of each maximum in its flattened H * W plane.
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const Extent2d& kernel,
                                                  const Pool2dOptions& options = {});
/// Over [N, C, L] or [C, L]; values and indices.
std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, int64_t kernel,
                                                  std::optional<int64_t> stride = std::nullopt,
                                                  int64_t padding = 0, int64_t dilation = 1,
                                                  bool ceil_mode = false);
Tensor max_pool1d(const Tensor& x, int64_t kernel, std::optional<int64_t> stride = std::nullopt,
                  int64_t padding = 0, int64_t dilation = 1, bool ceil_mode = false);

struct AvgPool2dOptions {
  std::optional<Extent2d> stride = {};  // the kernel unless given
  Extent2d padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor = {};  // instead of the window's element count
};
/// Mean of each window of [N, C, H, W] or [C, H, W].
Tensor avg_pool2d(const Tensor& x, const Extent2d& kernel, const AvgPool2dOptions& options = {});
Tensor avg_pool1d(const Tensor& x, int64_t kernel, std::optional<int64_t> stride = std::nullopt,
                  int64_t padding = 0, bool ceil_mode = false, bool count_include_pad = true);

/// Normalized over the last axes, whose sizes are `shape`; weight and bias have that shape or are
/// undefined.
Tensor layer_norm(const Tensor& x, const Shape& shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) over the last axes, whose sizes are `shape`.
Tensor rms_norm(const Tensor& x, const Shape& shape, const Tensor& weight = {}, double eps = 1e-5);
/// Over [N, C, ...] in `groups` groups of channels; weight and bias [C] or undefined.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
/// Over [N, C, ...], each channel of each element of the batch by itself; weight and bias [C] or
/// undefined.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                     double eps = 1e-5);
/// Over [N, C, ...] with given per-channel statistics; any of the tensors after x may be undefined,
/// and without mean and variance the batch's own are used.
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// Zeroes elements with probability p and scales the rest by 1 / (1 - p); x itself unless
/// `training`.
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true);
/// Whole channels of [N, C, ..] likewise, one draw each. `dropout1d` takes [C, L] too, `dropout3d`
/// [C, D, H, W]; `dropout2d` reads three axes as [N, C, L], as PyTorch does.
Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true);
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true);
Tensor dropout3d(const Tensor& x, double p = 0.5, bool training = true);
/// Elements, or channels of [N, C, ..], become SELU's lowest value with probability p; scale and
/// shift keep mean 0 and variance 1. x itself unless `training`.
Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = false);
Tensor feature_alpha_dropout(const Tensor& x, double p = 0.5, bool training = false);
/// [.., C r r, H, W] <-> [.., C, H r, W r].
Tensor pixel_shuffle(const Tensor& x, int64_t factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t factor);

// -- losses

enum class Reduction : uint8_t { kNone, kMean, kSum };

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean,
                      double beta = 1.0);
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean,
                  double delta = 1.0);

struct CrossEntropyOptions {
  Tensor weight = {};  // [C], or undefined
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0.0;
};
/// Of logits [N, C], [C] or [N, C, d...] against i64 classes [N], [] or [N, d...], or against
/// probabilities of the logits' shape. The mean is weighted by the classes' weights.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

struct NllOptions {
  Tensor weight = {};  // [C], or undefined
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
};
/// Of log-probabilities, shapes as `cross_entropy`; i64 classes only.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const NllOptions& options = {});

/// Of probabilities in [0, 1]; logarithms are bounded below by -100. `weight` may be undefined.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                            Reduction reduction = Reduction::kMean);
/// Of logits; `weight` and `positive_weight` may be undefined.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const Tensor& weight = {},
                                        const Tensor& positive_weight = {},
                                        Reduction reduction = Reduction::kMean);
/// target (log(target) - x), of log-probabilities x; `log_target` says that the target is one too.
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean,
              bool log_target = false);
Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                        Reduction reduction = Reduction::kMean);
Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                           double margin = 0.0, Reduction reduction = Reduction::kMean);
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1.0,
                            Reduction reduction = Reduction::kMean);
Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                             double margin = 0.0, Reduction reduction = Reduction::kMean);
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin = 1.0, double order = 2.0, double eps = 1e-6,
                           bool swap = false, Reduction reduction = Reduction::kMean);
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input = true,
                        bool full = false, double eps = 1e-8,
                        Reduction reduction = Reduction::kMean);
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& variance,
                         bool full = false, double eps = 1e-6,
                         Reduction reduction = Reduction::kMean);

}  // namespace remora
