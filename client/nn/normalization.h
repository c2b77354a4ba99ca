// Normalizations. Weights start as ones and biases as zeros; running statistics are buffers.
#pragma once

#include <optional>

#include "client/nn/module.h"

namespace remora::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  /// Weight of a batch in the running statistics; nothing means that they are the mean over all
  /// batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
};

struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
};

/// Per-channel weights, biases and running statistics of [N, C, ...]: what batch and instance
/// normalization share. Running means and variances are updated on the device while training, in
/// the window of the step; without them the batch's own are used in eval mode too.
class ChannelNorm : public Module {
 protected:
  ChannelNorm(std::string_view name, int64_t channels, const BatchNormOptions& options);
  /// INVALID_ARGUMENT unless x is [N, C, ...] with this many channels.
  void check_input(std::string_view name, const Tensor& x) const;
  bool uses_own_statistics() const { return training() || !running_mean_; }
  /// Takes one batch into the running statistics: its mean and unbiased variance, [C], with a
  /// weight of rank 0.
  void update_running(const Tensor& mean, const Tensor& variance, const Tensor& weight) const;

  BatchNormOptions options_;
  int64_t channels_;
  std::optional<Parameter> weight_;
  std::optional<Parameter> bias_;
  std::optional<Parameter> running_mean_;
  std::optional<Parameter> running_var_;
  std::optional<Parameter> batches_;
};

/// Each channel of [N, C, ...] to mean 0 and variance 1 over the batch (Ioffe and Szegedy, 2015).
class BatchNorm : public ChannelNorm {
 public:
  Tensor forward(const Tensor& x) const override;

 protected:
  BatchNorm(std::string_view name, int64_t channels, int64_t lowest_rank, int64_t highest_rank,
            const BatchNormOptions& options);

 private:
  void count_batch(const Tensor& mean, const Tensor& variance) const;

  std::string_view name_;
  int64_t lowest_rank_;
  int64_t highest_rank_;
};
/// [N, C] or [N, C, L].
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm1d", channels, 2, 3, options) {}
};
/// [N, C, H, W].
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm2d", channels, 4, 4, options) {}
};
/// [N, C, D, H, W].
class BatchNorm3d : public BatchNorm {
 public:
  explicit BatchNorm3d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("BatchNorm3d", channels, 5, 5, options) {}
};

/// Each channel of each example to mean 0 and variance 1.
class InstanceNorm : public ChannelNorm {
 public:
  Tensor forward(const Tensor& x) const override;

 protected:
  InstanceNorm(std::string_view name, int64_t channels, int64_t rank,
               const InstanceNormOptions& options);

 private:
  std::string_view name_;
  int64_t rank_;
};
/// [N, C, L].
class InstanceNorm1d : public InstanceNorm {
 public:
  explicit InstanceNorm1d(int64_t channels, const InstanceNormOptions& options = {})
      : InstanceNorm("InstanceNorm1d", channels, 3, options) {}
};
/// [N, C, H, W].
class InstanceNorm2d : public InstanceNorm {
 public:
  explicit InstanceNorm2d(int64_t channels, const InstanceNormOptions& options = {})
      : InstanceNorm("InstanceNorm2d", channels, 4, options) {}
};
/// [N, C, D, H, W].
class InstanceNorm3d : public InstanceNorm {
 public:
  explicit InstanceNorm3d(int64_t channels, const InstanceNormOptions& options = {})
      : InstanceNorm("InstanceNorm3d", channels, 5, options) {}
};

/// Over the last axes, whose sizes are `shape`.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Shape shape, double eps = 1e-5, bool affine = true, bool bias = true);
  Tensor forward(const Tensor& x) const override;

 private:
  Shape shape_;
  double eps_;
  std::optional<Parameter> weight_;
  std::optional<Parameter> bias_;
};

/// x / sqrt(mean(x^2) + eps) over the last axes, whose sizes are `shape`; without `eps` the
/// smallest that f32 adds to 1.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(Shape shape, std::optional<double> eps = std::nullopt, bool affine = true);
  Tensor forward(const Tensor& x) const override;

 private:
  Shape shape_;
  double eps_;
  std::optional<Parameter> weight_;
};

/// Over [N, C, ...] in `groups` groups of channels.
class GroupNorm : public Module {
 public:
  /// INVALID_ARGUMENT unless `groups` divides `channels`.
  GroupNorm(int64_t groups, int64_t channels, double eps = 1e-5, bool affine = true);
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t groups_;
  double eps_;
  std::optional<Parameter> weight_;
  std::optional<Parameter> bias_;
};

/// x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta.
class LocalResponseNorm : public Module {
 public:
  explicit LocalResponseNorm(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1.0)
      : size_(size), alpha_(alpha), beta_(beta), k_(k) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t size_;
  double alpha_;
  double beta_;
  double k_;
};

}  // namespace remora::nn
