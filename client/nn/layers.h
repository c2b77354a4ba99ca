// The layers that are one product or none. Weights and biases start as PyTorch's do: uniform in
// +-1 / sqrt(inputs of one output), unless said otherwise.
#pragma once

#include <optional>

#include "client/nn/module.h"
#include "client/ops_nn.h"

namespace remora::nn {

/// x itself.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return x; }
};

/// [..., in] -> [..., out].
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias = true);
  Tensor forward(const Tensor& x) const override;

  const Parameter& weight() const { return weight_; }             // [out, in]
  const std::optional<Parameter>& bias() const { return bias_; }  // [out]

 private:
  Parameter weight_;
  std::optional<Parameter> bias_;
};

/// [..., in1], [..., in2] -> [..., out]: x1^T W_o x2 + b_o for each o.
class Bilinear : public Module {
 public:
  Bilinear(int64_t in1, int64_t in2, int64_t out, bool bias = true);
  Tensor operator()(const Tensor& x1, const Tensor& x2) const;

 private:
  Parameter weight_;  // [out, in1, in2]
  std::optional<Parameter> bias_;
};

/// i64 index of any shape -> [..., width]: rows of a table that starts standard normal. The row of
/// `padding_index` starts as zeros and receives no gradient.
class Embedding : public Module {
 public:
  /// A negative `padding_index` counts from the end.
  Embedding(int64_t count, int64_t width, std::optional<int64_t> padding_index = std::nullopt);
  Tensor forward(const Tensor& index) const override;

 private:
  std::optional<int64_t> padding_index_;
  Parameter weight_;  // [count, width]
};

/// Axes from `start` to `end` become one: [N, ...] -> [N, product of the rest].
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start = 1, int64_t end = -1) : start_(start), end_(end) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t start_;
  int64_t end_;
};

/// `axis` becomes several of the given sizes, one of which may be -1.
class Unflatten : public Module {
 public:
  Unflatten(int64_t axis, Shape sizes) : axis_(axis), sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t axis_;
  Shape sizes_;
};

/// Zeroes elements with probability p while training; passes everything in eval mode.
class Dropout : public Module {
 public:
  /// INVALID_ARGUMENT unless 0 <= p <= 1.
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};

/// The same of whole channels: of [N, C, L] or [C, L]; of [N, C, H, W]; of [N, C, D, H, W] or
/// [C, D, H, W].
class Dropout1d : public Module {
 public:
  explicit Dropout1d(double p = 0.5);
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};
class Dropout2d : public Module {
 public:
  explicit Dropout2d(double p = 0.5);
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};
class Dropout3d : public Module {
 public:
  explicit Dropout3d(double p = 0.5);
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};

/// Dropout for networks of SELU, which keeps mean 0 and variance 1: of elements, and of the
/// channels of [N, C, ..].
class AlphaDropout : public Module {
 public:
  explicit AlphaDropout(double p = 0.5);
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};
class FeatureAlphaDropout : public Module {
 public:
  explicit FeatureAlphaDropout(double p = 0.5);
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
};

/// [.., C r r, H, W] -> [.., C, H r, W r].
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(int64_t factor) : factor_(factor) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t factor_;
};

/// [.., C, H r, W r] -> [.., C r r, H, W].
class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(int64_t factor) : factor_(factor) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t factor_;
};

}  // namespace remora::nn
