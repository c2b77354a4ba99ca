// Convolutions and transposed ones. Weights and biases start as PyTorch's do: uniform in
// +-1 / sqrt(inputs of one output).
#pragma once

#include <optional>

#include "client/nn/module.h"
#include "client/ops_nn.h"
#include "client/ops_pooling.h"
#include "client/ops_volumes.h"

namespace remora::nn {

struct Conv1dLayerOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
/// [N, in, L] -> [N, out, L'].
class Conv1d : public Module {
 public:
  /// INVALID_ARGUMENT unless `groups` divides both channel counts.
  Conv1d(int64_t in, int64_t out, int64_t kernel, const Conv1dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Conv1dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

struct Conv2dLayerOptions {
  Extent2d stride = 1;
  Extent2d padding = 0;
  Extent2d dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
/// [N, in, H, W] -> [N, out, H', W'].
class Conv2d : public Module {
 public:
  Conv2d(int64_t in, int64_t out, const Extent2d& kernel, const Conv2dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Conv2dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

struct Conv3dLayerOptions {
  Dims stride = {1};
  Dims padding = {0};
  Dims dilation = {1};
  int64_t groups = 1;
  bool bias = true;
};
/// [N, in, D, H, W] -> [N, out, D', H', W'].
class Conv3d : public Module {
 public:
  /// `kernel` is three sizes, or one for all.
  Conv3d(int64_t in, int64_t out, const Dims& kernel, const Conv3dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Conv3dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

struct ConvTranspose1dLayerOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  int64_t dilation = 1;
};
/// [N, in, L] -> [N, out, L'].
class ConvTranspose1d : public Module {
 public:
  ConvTranspose1d(int64_t in, int64_t out, int64_t kernel,
                  const ConvTranspose1dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  ConvTranspose1dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

struct ConvTranspose2dLayerOptions {
  Extent2d stride = 1;
  Extent2d padding = 0;
  Extent2d output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Extent2d dilation = 1;
};
/// [N, in, H, W] -> [N, out, H', W'].
class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(int64_t in, int64_t out, const Extent2d& kernel,
                  const ConvTranspose2dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  ConvTranspose2dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

struct ConvTranspose3dLayerOptions {
  Dims stride = {1};
  Dims padding = {0};
  Dims output_padding = {0};
  int64_t groups = 1;
  bool bias = true;
  Dims dilation = {1};
};
/// [N, in, D, H, W] -> [N, out, D', H', W'].
class ConvTranspose3d : public Module {
 public:
  ConvTranspose3d(int64_t in, int64_t out, const Dims& kernel,
                  const ConvTranspose3dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  ConvTranspose3dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

}  // namespace remora::nn
