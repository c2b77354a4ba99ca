// Pooling layers: the functions of ops_nn.h and ops_pooling.h with their sizes kept.
#pragma once

#include <optional>
#include <utility>

#include "client/nn/module.h"
#include "client/ops_nn.h"
#include "client/ops_pooling.h"

namespace remora::nn {

struct MaxPool1dOptions {
  std::optional<int64_t> stride = {};  // the kernel unless given
  int64_t padding = 0;
  int64_t dilation = 1;
  bool ceil_mode = false;
};
class MaxPool1d : public Module {
 public:
  explicit MaxPool1d(int64_t kernel, const MaxPool1dOptions& options = {})
      : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t kernel_;
  MaxPool1dOptions options_;
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

class MaxPool3d : public Module {
 public:
  /// `kernel` is three sizes, or one for all.
  explicit MaxPool3d(Dims kernel, Pool3dOptions options = {})
      : kernel_(std::move(kernel)), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  Dims kernel_;
  Pool3dOptions options_;
};

struct AvgPool1dOptions {
  std::optional<int64_t> stride = {};  // the kernel unless given
  int64_t padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};
class AvgPool1d : public Module {
 public:
  explicit AvgPool1d(int64_t kernel, const AvgPool1dOptions& options = {})
      : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t kernel_;
  AvgPool1dOptions options_;
};

class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const Extent2d& kernel, const AvgPool2dOptions& options = {})
      : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override;

 private:
  Extent2d kernel_;
  AvgPool2dOptions options_;
};

class AvgPool3d : public Module {
 public:
  explicit AvgPool3d(Dims kernel, AvgPool3dOptions options = {})
      : kernel_(std::move(kernel)), options_(std::move(options)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  Dims kernel_;
  AvgPool3dOptions options_;
};

/// The mean over as many windows of nearly equal size as the result has elements. Sizes of the last
/// axes; nothing keeps a size, one entry stands for every axis.
class AdaptiveAvgPool1d : public Module {
 public:
  explicit AdaptiveAvgPool1d(int64_t size) : size_(size) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t size_;
};
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(AdaptiveSizes sizes) : sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  AdaptiveSizes sizes_;
};
class AdaptiveAvgPool3d : public Module {
 public:
  explicit AdaptiveAvgPool3d(AdaptiveSizes sizes) : sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  AdaptiveSizes sizes_;
};

/// The maximum likewise.
class AdaptiveMaxPool1d : public Module {
 public:
  explicit AdaptiveMaxPool1d(int64_t size) : size_(size) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t size_;
};
class AdaptiveMaxPool2d : public Module {
 public:
  explicit AdaptiveMaxPool2d(AdaptiveSizes sizes) : sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  AdaptiveSizes sizes_;
};
class AdaptiveMaxPool3d : public Module {
 public:
  explicit AdaptiveMaxPool3d(AdaptiveSizes sizes) : sizes_(std::move(sizes)) {}
  Tensor forward(const Tensor& x) const override;

 private:
  AdaptiveSizes sizes_;
};

/// The inverse of max pooling: what was the maximum goes back to where it came from (the indices of
/// `max_pool1d_with_indices` and its like), the rest is zero. `size` is what was pooled, where the
/// windows do not tell.
class MaxUnpool1d : public Module {
 public:
  explicit MaxUnpool1d(Dims kernel, std::optional<Dims> stride = std::nullopt, Dims padding = {0})
      : kernel_(std::move(kernel)), options_{std::move(stride), std::move(padding), std::nullopt} {}
  Tensor operator()(const Tensor& x, const Tensor& indices,
                    const std::optional<Dims>& size = std::nullopt) const;

 private:
  Dims kernel_;
  MaxUnpoolOptions options_;
};
class MaxUnpool2d : public Module {
 public:
  explicit MaxUnpool2d(Dims kernel, std::optional<Dims> stride = std::nullopt, Dims padding = {0})
      : kernel_(std::move(kernel)), options_{std::move(stride), std::move(padding), std::nullopt} {}
  Tensor operator()(const Tensor& x, const Tensor& indices,
                    const std::optional<Dims>& size = std::nullopt) const;

 private:
  Dims kernel_;
  MaxUnpoolOptions options_;
};
class MaxUnpool3d : public Module {
 public:
  explicit MaxUnpool3d(Dims kernel, std::optional<Dims> stride = std::nullopt, Dims padding = {0})
      : kernel_(std::move(kernel)), options_{std::move(stride), std::move(padding), std::nullopt} {}
  Tensor operator()(const Tensor& x, const Tensor& indices,
                    const std::optional<Dims>& size = std::nullopt) const;

 private:
  Dims kernel_;
  MaxUnpoolOptions options_;
};

}  // namespace remora::nn
