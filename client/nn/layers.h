// The layers. Weights and biases start as PyTorch's do: uniform in +-1 / sqrt(inputs of one
// output).
#pragma once

#include <optional>

#include "client/nn/module.h"
#include "client/ops_nn.h"

namespace remora::nn {

/// [..., in] -> [..., out].
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias = true);
  Tensor forward(const Tensor& x) const override;

 private:
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
  /// INVALID_ARGUMENT unless `groups` divides both channel counts.
  Conv2d(int64_t in, int64_t out, const Extent2d& kernel, const Conv2dLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Conv2dOptions options_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

class ReLU : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const Extent2d& kernel, const Pool2dOptions& options = {})
      : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override;

 private:
  Extent2d kernel_;
  Pool2dOptions options_;
};

/// [N, ...] -> [N, product of the rest].
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// Zeroes elements with probability p while training; passes everything in eval mode.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};

}  // namespace remora::nn
