// Activations. A branch that `where` does not take gets an input at which it is finite: otherwise
// its infinite slope times the zero cotangent would be NaN.
#include <cmath>
#include <numbers>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;
using dispatch::OpCode;

namespace {

Tensor negative_part(const Tensor& x) { return where(x > 0.0, 0.0, x); }

}  // namespace

Tensor hardtanh(const Tensor& x, double low, double high) {
  const CallScope scope;
  if (low > high) refuse("hardtanh", str_cat("the bounds ", low, " and ", high, " are reversed"));
  return where(x <= low, low, where(x >= high, high, x));
}

Tensor relu6(const Tensor& x) {
  const CallScope scope;
  return where(x <= 0, 0, where(x >= 6, 6, x));  // integers stay integers
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  const CallScope scope;
  require_float("leaky_relu", x.dtype());
  return where(x > 0.0, x, x * negative_slope);
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  const CallScope scope;
  Tensor slope = weight;
  if (weight.numel() != 1) {
    if (x.rank() < 2 || weight.rank() != 1 || weight.numel() != x.size(1)) {
      refuse("prelu", str_cat("weight ", weight.shape().str(), " does not fit the channels of ",
                              x.shape().str()));
    }
    Shape shape(Dims(static_cast<size_t>(x.rank()), 1));
    shape[1] = weight.numel();
    slope = reshape(weight, shape);
  } else {
    slope = reshape(weight, {});
  }
  return where(x > 0.0, x, slope * x);
}

Tensor elu(const Tensor& x, double alpha) {
  const CallScope scope;
  require_float("elu", x.dtype());
  return where(x > 0.0, x, alpha * expm1(negative_part(x)));
}

Tensor celu(const Tensor& x, double alpha) {
  const CallScope scope;
  require_float("celu", x.dtype());
  if (alpha == 0.0) refuse("celu", "alpha is 0");
  return where(x > 0.0, x, alpha * expm1(negative_part(x) / alpha));
}

Tensor selu(const Tensor& x) {
  // Klambauer et al., "Self-Normalizing Neural Networks", 2017
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  const CallScope scope;
  return kScale * elu(x, kAlpha);
}

Tensor gelu(const Tensor& x, GeluForm form) {
  const CallScope scope;
  require_float("gelu", x.dtype());
  if (is_half(x.dtype())) return through_f32(x, [&](const Tensor& f) { return gelu(f, form); });
  if (form == GeluForm::kErf) return 0.5 * x * (1.0 + erf(x * (1.0 / std::numbers::sqrt2)));
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * x * (1.0 + tanh(scale * (x + 0.044715 * (x * x * x))));
}

Tensor silu(const Tensor& x) {
  const CallScope scope;
  require_float("silu", x.dtype());
  return x * sigmoid(x);
}

Tensor mish(const Tensor& x) {
  const CallScope scope;
  return x * tanh(softplus(x));
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  const CallScope scope;
  require_float("softplus", x.dtype());
  const Tensor scaled = x * beta;
  const Tensor linear = scaled > threshold;
  return where(linear, x, log1p(exp(where(linear, 0.0, scaled))) / beta);
}

Tensor softsign(const Tensor& x) {
  const CallScope scope;
  const Tensor f = promote_one(x, Domain::kFloat);
  return f / (1.0 + abs(f));
}

Tensor softshrink(const Tensor& x, double lambda) {
  const CallScope scope;
  require_float("softshrink", x.dtype());
  if (lambda < 0) refuse("softshrink", str_cat("lambda ", lambda, " is negative"));
  return where(x > lambda, x - lambda, where(x < -lambda, x + lambda, x * 0.0));
}

Tensor hardshrink(const Tensor& x, double lambda) {
  const CallScope scope;
  require_float("hardshrink", x.dtype());
  return where(logical_and(x >= -lambda, x <= lambda), 0.0, x);
}

Tensor tanhshrink(const Tensor& x) {
  const CallScope scope;
  const Tensor f = promote_one(x, Domain::kFloat);
  return f - tanh(f);
}

Tensor hardsigmoid(const Tensor& x) {
  const CallScope scope;
  require_float("hardsigmoid", x.dtype());
  return relu6(x + 3.0) / 6.0;
}

Tensor hardswish(const Tensor& x) {
  const CallScope scope;
  require_float("hardswish", x.dtype());
  const Tensor middle = logical_and(x >= -3.0, x <= 3.0);
  const Tensor curved = where(middle, x, 0.0);
  return where(x < -3.0, 0.0, where(middle, curved * (curved + 3.0) / 6.0, x));
}

Tensor logsigmoid(const Tensor& x) {
  const CallScope scope;
  require_float("logsigmoid", x.dtype());
  return minimum(x, 0.0) - log1p(exp(-abs(x)));
}

Tensor threshold(const Tensor& x, double limit, double value) {
  const CallScope scope;
  if (is_float(x.dtype())) return where(x <= limit, value, x);
  return where(x <= limit, constant(x, value, x.dtype()), x);
}

Tensor glu(const Tensor& x, int64_t axis) {
  const CallScope scope;
  const int64_t along = normalize_axis("glu", axis, x.rank());
  const int64_t size = x.size(along);
  if (size % 2 != 0) refuse("glu", str_cat("axis ", axis, " of ", x.shape().str(), " is odd"));
  return narrow(x, along, 0, size / 2) * sigmoid(narrow(x, along, size / 2, size / 2));
}

Tensor softmax(const Tensor& x, int64_t axis) {
  const CallScope scope;
  const Tensor f = promote_one(x, Domain::kFloat);
  if (x.rank() == 0) return reshape(softmax(reshape(f, {1}), axis), {});
  return apply(OpCode::softmax, {f},
               dispatch::AxisAttrs{normalize_axis("softmax", axis, x.rank())});
}

Tensor softmin(const Tensor& x, int64_t axis) {
  const CallScope scope;
  return softmax(neg(x), axis);
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  const CallScope scope;
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f32) { return log_softmax(f32, axis); });
  }
  const Tensor f = promote_one(x, Domain::kFloat);
  if (x.rank() == 0) return reshape(log_softmax(reshape(f, {1}), axis), {});
  const int64_t along = normalize_axis("log_softmax", axis, x.rank());
  if (x.numel() == 0) return f;
  const Tensor shifted = f - amax(f.detach(), along, true);
  return shifted - log(sum(exp(shifted), along, true));
}

}  // namespace remora
