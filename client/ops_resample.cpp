// Resampling: along each axis a weighted sum of a few elements taken by computed indices.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "client/apply.h"
#include "client/host_list.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// One element of each sum: which one, and its weight, by result index.
struct Tap {
  std::vector<int64_t> index;
  std::vector<double> weight;  // empty: 1
};

/// An axis to be resampled.
struct ResampledAxis {
  int64_t size;                 // before
  int64_t count;                // after
  std::optional<double> scale;  // as given; else it follows from the sizes
  bool align_corners;

  /// Elements of the input per element of the result.
  double step() const {
    if (align_corners) {
      return count > 1 ? static_cast<double>(size - 1) / static_cast<double>(count - 1) : 0.0;
    }
    return scale ? 1.0 / *scale : static_cast<double>(size) / static_cast<double>(count);
  }
  /// Where the centre of result element i lies, in input elements.
  double position(int64_t i) const {
    const auto at = static_cast<double>(i);
    return align_corners ? at * step() : (at + 0.5) * step() - 0.5;
  }
};

std::vector<Tap> nearest_taps(const ResampledAxis& axis, double offset) {
  Tap tap;
  // In single precision, as PyTorch computes it: which neighbour is nearest depends on the last
  // bit.
  const auto step = static_cast<float>(axis.step());
  for (int64_t i = 0; i < axis.count; ++i) {
    const float position = (static_cast<float>(i) + static_cast<float>(offset)) * step;
    tap.index.push_back(std::min(static_cast<int64_t>(std::floor(position)), axis.size - 1));
  }
  return {std::move(tap)};
}

std::vector<Tap> linear_taps(const ResampledAxis& axis) {
  std::vector<Tap> taps(2);
  for (int64_t i = 0; i < axis.count; ++i) {
    const double position = std::max(axis.position(i), 0.0);
    const int64_t below = std::min(static_cast<int64_t>(position), axis.size - 1);
    const double fraction = position - static_cast<double>(below);
    taps[0].index.push_back(below);
    taps[0].weight.push_back(1.0 - fraction);
    taps[1].index.push_back(std::min(below + 1, axis.size - 1));
    taps[1].weight.push_back(fraction);
  }
  return taps;
}

/// R. Keys, "Cubic convolution interpolation", 1981, with a = -0.75.
std::array<double, 4> cubic_weights(double fraction) {
  constexpr double kA = -0.75;
  const auto inner = [](double t) { return ((kA + 2.0) * t - (kA + 3.0)) * t * t + 1.0; };
  const auto outer = [](double t) { return ((kA * t - 5.0 * kA) * t + 8.0 * kA) * t - 4.0 * kA; };
  return {outer(fraction + 1.0), inner(fraction), inner(1.0 - fraction), outer(2.0 - fraction)};
}

std::vector<Tap> cubic_taps(const ResampledAxis& axis) {
  std::vector<Tap> taps(4);
  for (int64_t i = 0; i < axis.count; ++i) {
    const double position = axis.position(i);
    const double below = std::floor(position);
    const std::array<double, 4> weights = cubic_weights(position - below);
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t index = static_cast<int64_t>(below) + k - 1;
      taps[static_cast<size_t>(k)].index.push_back(std::clamp<int64_t>(index, 0, axis.size - 1));
      taps[static_cast<size_t>(k)].weight.push_back(weights[static_cast<size_t>(k)]);
    }
  }
  return taps;
}

/// sinc(t) sinc(t / 3), 0 from 3 on. C. E. Duchon, "Lanczos filtering in one and two dimensions",
/// 1979.
double lanczos3(double t) {
  if (t == 0.0) return 1.0;
  if (std::abs(t) >= 3.0) return 0.0;
  const double angle = std::numbers::pi * t;
  return std::sin(angle) * std::sin(angle / 3.0) / (angle * angle / 3.0);
}

std::vector<Tap> lanczos3_taps(const ResampledAxis& axis) {
  constexpr size_t kTaps = 6;
  std::vector<Tap> taps(kTaps);
  for (int64_t i = 0; i < axis.count; ++i) {
    const double position = axis.position(i);
    const double below = std::floor(position);
    std::array<double, kTaps> weights{};
    double total = 0.0;
    for (size_t k = 0; k < kTaps; ++k) {
      const int64_t index = static_cast<int64_t>(below) + static_cast<int64_t>(k) - 2;
      const bool inside = index >= 0 && index < axis.size;
      if (inside) weights[k] = lanczos3(position - static_cast<double>(index));
      total += weights[k];
      taps[k].index.push_back(std::clamp<int64_t>(index, 0, axis.size - 1));
    }
    for (size_t k = 0; k < kTaps; ++k) taps[k].weight.push_back(weights[k] / total);
  }
  return taps;
}

std::vector<Tap> taps_of(Interpolation mode, const ResampledAxis& axis) {
  switch (mode) {
    case Interpolation::kNearest:
      return nearest_taps(axis, 0.0);
    case Interpolation::kNearestExact:
      return nearest_taps(axis, 0.5);
    case Interpolation::kCubic:
      return cubic_taps(axis);
    case Interpolation::kLanczos3:
      return lanczos3_taps(axis);
    default:
      return linear_taps(axis);
  }
}

Tensor resample_axis(const Tensor& x, int64_t axis, const std::vector<Tap>& taps) {
  Tensor total;
  for (const auto& [index, weight] : taps) {
    const auto count = static_cast<int64_t>(index.size());
    Tensor part = index_select(x, axis, from_data(index, {count}, x.device()));
    if (!weight.empty()) {
      Shape line(Dims(static_cast<size_t>(x.rank()), 1));
      line[axis] = count;
      part = part * host_numbers(weight, line, x);
    }
    total = total.defined() ? total + part : part;
  }
  return total;
}

/// The resampled axes, after the second.
std::vector<ResampledAxis> resampled_axes(const Tensor& x, const InterpolateOptions& options) {
  const int64_t spatial = x.rank() - 2;
  if (spatial < 1 || options.size.has_value() == !options.scale.empty()) {
    refuse("interpolate",
           str_cat("takes [N, C, ..] and either a size or a scale, not ", x.shape().str()));
  }
  const size_t given = options.size ? options.size->size() : options.scale.size();
  if (given != 1 && static_cast<int64_t>(given) != spatial) {
    refuse("interpolate", str_cat("takes one size or scale, or ", spatial, ", not ", given));
  }
  std::vector<ResampledAxis> axes;
  for (int64_t i = 0; i < spatial; ++i) {
    const size_t entry = given == 1 ? 0 : static_cast<size_t>(i);
    ResampledAxis axis{x.size(i + 2), 0, std::nullopt, options.align_corners};
    if (options.size) {
      axis.count = (*options.size)[entry];
    } else {
      axis.scale = options.scale[entry];
      const double count = std::floor(static_cast<double>(axis.size) * *axis.scale);
      if (!(count >= 1.0) || !(count < 9e15)) {
        refuse("interpolate",
               str_cat("a scale of ", *axis.scale, " of ", axis.size, " leaves no valid size"));
      }
      axis.count = static_cast<int64_t>(count);
    }
    if (axis.count <= 0 || axis.size <= 0) {
      refuse("interpolate", str_cat("sizes must be above 0, not ", axis.size, " to ", axis.count));
    }
    check_host_list("interpolate", axis.count, 1);
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  const CallScope scope;
  require_float("interpolate", x.dtype());
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return interpolate(f, options); });
  }
  const std::vector<ResampledAxis> axes = resampled_axes(x, options);
  if (options.mode == Interpolation::kCubic && axes.size() > 2) {
    refuse("interpolate", "cubic interpolation takes one or two axes");
  }
  if (options.mode == Interpolation::kArea) {
    AdaptiveSizes sizes;
    for (const ResampledAxis& axis : axes) sizes.emplace_back(axis.count);
    if (axes.size() == 1) return adaptive_avg_pool1d(x, sizes);
    if (axes.size() == 2) return adaptive_avg_pool2d(x, sizes);
    if (axes.size() == 3) return adaptive_avg_pool3d(x, sizes);
    refuse("interpolate", "area interpolation takes one to three axes");
  }
  Tensor result = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    result = resample_axis(result, static_cast<int64_t>(i) + 2, taps_of(options.mode, axes[i]));
  }
  return result;
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
  const CallScope scope;
  ConvTranspose2dOptions flat;
  flat.stride = Extent2d(1, options.stride);
  flat.padding = Extent2d(0, options.padding);
  flat.output_padding = Extent2d(0, options.output_padding);
  flat.dilation = Extent2d(1, options.dilation);
  flat.groups = options.groups;
  return squeeze(conv_transpose2d(unsqueeze(x, -2), unsqueeze(weight, -2), bias, flat), -2);
}

Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  const CallScope scope;
  require_float("local_response_norm", x.dtype());
  if (x.rank() < 3 || size <= 0) {
    refuse("local_response_norm",
           str_cat("takes [N, C, ..] and a size above 0, not ", x.shape().str(), " and ", size));
  }
  check_host_list("local_response_norm", size, x.size(1));
  Dims widths(static_cast<size_t>(2 * (x.rank() - 1)), 0);
  widths[widths.size() - 2] = size / 2;
  widths[widths.size() - 1] = (size - 1) / 2;
  const Tensor padded = pad(square(x), widths);
  Tensor total = narrow(padded, 1, 0, x.size(1));
  for (int64_t i = 1; i < size; ++i) total = total + narrow(padded, 1, i, x.size(1));
  return x / pow(total * (alpha / static_cast<double>(size)) + k, beta);
}

}  // namespace remora
