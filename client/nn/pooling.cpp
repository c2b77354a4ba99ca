#include "client/nn/pooling.h"

#include "client/ops.h"

namespace remora::nn {

Tensor MaxPool1d::forward(const Tensor& x) const {
  return max_pool1d(x, kernel_, options_.stride, options_.padding, options_.dilation,
                    options_.ceil_mode);
}
Tensor MaxPool2d::forward(const Tensor& x) const { return max_pool2d(x, kernel_, options_); }
Tensor MaxPool3d::forward(const Tensor& x) const { return max_pool3d(x, kernel_, options_); }

Tensor AvgPool1d::forward(const Tensor& x) const {
  return avg_pool1d(x, kernel_, options_.stride, options_.padding, options_.ceil_mode,
                    options_.count_include_pad);
}
Tensor AvgPool2d::forward(const Tensor& x) const { return avg_pool2d(x, kernel_, options_); }
Tensor AvgPool3d::forward(const Tensor& x) const { return avg_pool3d(x, kernel_, options_); }

Tensor AdaptiveAvgPool1d::forward(const Tensor& x) const { return adaptive_avg_pool1d(x, {size_}); }
Tensor AdaptiveAvgPool2d::forward(const Tensor& x) const { return adaptive_avg_pool2d(x, sizes_); }
Tensor AdaptiveAvgPool3d::forward(const Tensor& x) const { return adaptive_avg_pool3d(x, sizes_); }

Tensor AdaptiveMaxPool1d::forward(const Tensor& x) const {
  return adaptive_max_pool1d(x, {size_}).first;
}
Tensor AdaptiveMaxPool2d::forward(const Tensor& x) const {
  return adaptive_max_pool2d(x, sizes_).first;
}
Tensor AdaptiveMaxPool3d::forward(const Tensor& x) const {
  return adaptive_max_pool3d(x, sizes_).first;
}

namespace {

MaxUnpoolOptions with_size(MaxUnpoolOptions options, const std::optional<Dims>& size) {
  options.size = size;
  return options;
}

}  // namespace

Tensor MaxUnpool1d::operator()(const Tensor& x, const Tensor& indices,
                               const std::optional<Dims>& size) const {
  return max_unpool1d(x, indices, kernel_, with_size(options_, size));
}
Tensor MaxUnpool2d::operator()(const Tensor& x, const Tensor& indices,
                               const std::optional<Dims>& size) const {
  return max_unpool2d(x, indices, kernel_, with_size(options_, size));
}
Tensor MaxUnpool3d::operator()(const Tensor& x, const Tensor& indices,
                               const std::optional<Dims>& size) const {
  return max_unpool3d(x, indices, kernel_, with_size(options_, size));
}

}  // namespace remora::nn
