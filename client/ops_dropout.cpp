// Dropout of elements and of whole channels.
#include <cmath>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

void check_dropout(std::string_view function, const Tensor& x, double p) {
  require_float(function, x.dtype());
  if (!(p >= 0.0 && p <= 1.0)) refuse(function, str_cat("p is ", p, "; it must lie in [0, 1]"));
}

/// 1 with probability 1 - p, else 0: of `shape`, in the dtype of x. Drawn under its context, so
/// that checkpointing may draw it again instead of keeping it.
Tensor kept(const Tensor& x, const Shape& shape, double p) {
  return astype(uniform(shape, x.device(), 0.0, 1.0, DType::kF32) >= p, x.dtype());
}

Tensor drop(const Tensor& x, const Shape& shape, double p) {
  return x * (kept(x, shape, p) * (p < 1.0 ? 1.0 / (1.0 - p) : 0.0));
}

/// One draw for each channel of [N, C, ..].
Shape channels_of(std::string_view function, const Tensor& x) {
  if (x.rank() < 2) refuse(function, str_cat("takes [N, C, ..], not ", x.shape().str()));
  Shape shape(Dims(static_cast<size_t>(x.rank()), 1));
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  return shape;
}

/// Of [N, C, ..] with `spatial` axes after the channels; without N if `batchless` allows it.
Tensor drop_channels(std::string_view function, const Tensor& x, double p, bool training,
                     int64_t spatial, bool batchless) {
  check_dropout(function, x, p);
  const bool single = batchless && x.rank() == spatial + 1;
  if (!single && x.rank() < 2) refuse(function, str_cat("takes channels, not ", x.shape().str()));
  if (!training || p == 0.0) return x;
  if (!single) return drop(x, channels_of(function, x), p);
  return squeeze(drop_channels(function, unsqueeze(x, 0), p, training, spatial, false), 0);
}

/// What is dropped becomes the lowest value of SELU, -lambda alpha; a scale and a shift then give
/// mean 0 and variance 1 back. Klambauer et al., "Self-normalizing neural networks", 2017.
Tensor drop_to_saturation(const Tensor& x, const Shape& shape, double p) {
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return drop_to_saturation(f, shape, p); });
  }
  if (p == 1.0) return x * zeros({}, x.device().without_autodiff(), x.dtype());
  constexpr double kSaturation = 1.7580993408473766;
  const double scale = 1.0 / std::sqrt((kSaturation * kSaturation * p + 1.0) * (1.0 - p));
  const double shift = kSaturation * scale;
  const Tensor mask = kept(x, shape, p);
  return x * (mask * scale) + ((mask - 1.0) * shift + shift * p);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training) {
  const CallScope scope;
  check_dropout("dropout", x, p);
  return training && p != 0.0 ? drop(x, x.shape(), p) : x;
}

Tensor dropout1d(const Tensor& x, double p, bool training) {
  const CallScope scope;
  if (x.rank() != 2 && x.rank() != 3) {
    refuse("dropout1d", str_cat("takes [N, C, L] or [C, L], not ", x.shape().str()));
  }
  return drop_channels("dropout1d", x, p, training, 1, true);
}

Tensor dropout2d(const Tensor& x, double p, bool training) {
  const CallScope scope;
  return drop_channels("dropout2d", x, p, training, 2, false);
}

Tensor dropout3d(const Tensor& x, double p, bool training) {
  const CallScope scope;
  return drop_channels("dropout3d", x, p, training, 3, true);
}

Tensor alpha_dropout(const Tensor& x, double p, bool training) {
  const CallScope scope;
  check_dropout("alpha_dropout", x, p);
  return training && p != 0.0 ? drop_to_saturation(x, x.shape(), p) : x;
}

Tensor feature_alpha_dropout(const Tensor& x, double p, bool training) {
  const CallScope scope;
  check_dropout("feature_alpha_dropout", x, p);
  const Shape channels = channels_of("feature_alpha_dropout", x);
  return training && p != 0.0 ? drop_to_saturation(x, channels, p) : x;
}

}  // namespace remora
