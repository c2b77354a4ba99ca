// Activations as modules; what they compute stands at the functions of ops.h and ops_nn.h.
#pragma once

#include "client/nn/module.h"
#include "client/ops.h"

namespace remora::nn {

/// A function of one tensor without options, as a module.
template <Tensor (*kFunction)(const Tensor&)>
class Elementwise : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return kFunction(x); }
};
using ReLU = Elementwise<&relu>;
using ReLU6 = Elementwise<&relu6>;
using SELU = Elementwise<&selu>;
using SiLU = Elementwise<&silu>;
using Mish = Elementwise<&mish>;
using Softsign = Elementwise<&softsign>;
using Tanhshrink = Elementwise<&tanhshrink>;
using Hardsigmoid = Elementwise<&hardsigmoid>;
using Hardswish = Elementwise<&hardswish>;
using LogSigmoid = Elementwise<&logsigmoid>;
using Sigmoid = Elementwise<&sigmoid>;
using Tanh = Elementwise<&tanh>;

/// A function with one number.
template <Tensor (*kFunction)(const Tensor&, double)>
class ElementwiseWith : public Module {
 public:
  explicit ElementwiseWith(double number) : number_(number) {}
  Tensor forward(const Tensor& x) const override { return kFunction(x, number_); }

 private:
  double number_;
};
/// A slope of `negative_slope` below 0.
class LeakyReLU : public ElementwiseWith<&leaky_relu> {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : ElementwiseWith(negative_slope) {}
};
class ELU : public ElementwiseWith<&elu> {
 public:
  explicit ELU(double alpha = 1.0) : ElementwiseWith(alpha) {}
};
class CELU : public ElementwiseWith<&celu> {
 public:
  explicit CELU(double alpha = 1.0) : ElementwiseWith(alpha) {}
};
class Softshrink : public ElementwiseWith<&softshrink> {
 public:
  explicit Softshrink(double lambda = 0.5) : ElementwiseWith(lambda) {}
};
class Hardshrink : public ElementwiseWith<&hardshrink> {
 public:
  explicit Hardshrink(double lambda = 0.5) : ElementwiseWith(lambda) {}
};

/// A function along one axis.
template <Tensor (*kFunction)(const Tensor&, int64_t)>
class AlongAxis : public Module {
 public:
  explicit AlongAxis(int64_t axis) : axis_(axis) {}
  Tensor forward(const Tensor& x) const override { return kFunction(x, axis_); }

 private:
  int64_t axis_;
};
using Softmax = AlongAxis<&softmax>;
using Softmin = AlongAxis<&softmin>;
using LogSoftmax = AlongAxis<&log_softmax>;
class GLU : public AlongAxis<&glu> {
 public:
  explicit GLU(int64_t axis = -1) : AlongAxis(axis) {}
};

/// A learned slope below 0: one, or one for each channel (axis 1).
class PReLU : public Module {
 public:
  explicit PReLU(int64_t channels = 1, double initial = 0.25)
      : weight_(add_parameter("weight", constant_parameter({channels}, initial))) {}
  Tensor forward(const Tensor& x) const override { return prelu(x, weight_.tensor()); }

 private:
  Parameter weight_;
};

class GELU : public Module {
 public:
  explicit GELU(GeluForm form = GeluForm::kErf) : form_(form) {}
  Tensor forward(const Tensor& x) const override { return gelu(x, form_); }

 private:
  GeluForm form_;
};

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1.0, double threshold = 20.0)
      : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) const override { return softplus(x, beta_, threshold_); }

 private:
  double beta_;
  double threshold_;
};

class Hardtanh : public Module {
 public:
  explicit Hardtanh(double low = -1.0, double high = 1.0) : low_(low), high_(high) {}
  Tensor forward(const Tensor& x) const override { return hardtanh(x, low_, high_); }

 private:
  double low_;
  double high_;
};

class Threshold : public Module {
 public:
  Threshold(double limit, double value) : limit_(limit), value_(value) {}
  Tensor forward(const Tensor& x) const override { return threshold(x, limit_, value_); }

 private:
  double limit_;
  double value_;
};

}  // namespace remora::nn
