// Transforms made of the catalogue's one: complex, along the last axis but one, not scaled.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "client/apply.h"
#include "client/ops.h"
#include "client/promotion.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora {

using dispatch::CallScope;

namespace {

/// What a transform of n elements is multiplied with.
double scale_of(std::string_view function, std::string_view norm, int64_t n, bool inverse) {
  const auto count = static_cast<double>(n);
  if (norm == "ortho") return 1.0 / std::sqrt(count);
  if (norm != "backward" && norm != "forward") {
    refuse(function, str_cat("norm \"", norm, "\" is not backward, ortho or forward"));
  }
  return (norm == "backward") == inverse ? 1.0 / count : 1.0;
}

void check_complex(std::string_view function, const Tensor& x) {
  if (x.rank() >= 2 && x.size(-1) == 2) return;
  refuse(function, str_cat("takes complex numbers as pairs [.., 2], not ", x.shape().str()));
}

/// `x` cut or filled with zeros to n elements along `axis`.
Tensor resized(std::string_view function, const Tensor& x, int64_t axis, int64_t n) {
  if (n < 1) refuse(function, str_cat("a transform of ", n, " elements"));
  const int64_t size = x.size(axis);
  if (n <= size) return narrow(x, axis, 0, n);
  Shape missing = x.shape();
  missing[axis] = n - size;
  require_shape(function, missing);
  return concat({x, zeros(missing, x.device().without_autodiff(), x.dtype())}, axis);
}

/// A complex tensor transformed along `axis` of those without the pair's.
Tensor transform(std::string_view function, const Tensor& x, std::optional<int64_t> n, int64_t axis,
                 std::string_view norm, bool inverse) {
  const int64_t along = normalize_axis(function, axis, x.rank() - 1);
  const int64_t length = n.value_or(x.size(along));
  const double scale = scale_of(function, norm, length, inverse);
  const Tensor lines = movedim(resized(function, x, along, length), Dims{along}, Dims{-2});
  const Tensor result = apply(dispatch::OpCode::fft, {lines}, dispatch::FftAttrs{inverse});
  return movedim(scale == 1.0 ? result : result * scale, Dims{-2}, Dims{along});
}

Tensor conjugate(const Tensor& x) {
  return x * arange(1, -3, -2, x.device().without_autodiff(), x.dtype());  // 1, -1
}

/// The norm that divides where `norm` does not.
std::string_view opposite(std::string_view norm) {
  return norm == "backward" ? "forward" : norm == "forward" ? "backward" : norm;
}

Tensor with_zero_imaginary(const Tensor& x) { return stack({x, zeros_like(x.inner())}, -1); }

/// The axes of an n-dimensional transform and the length along each.
struct Plan {
  Dims axes, lengths;
};
/// `rank` does not count the pair's axis; `from_half`: the last axis holds half of its transform.
Plan plan_of(std::string_view function, const Tensor& x, int64_t rank, const Dims& sizes,
             const Dims& axes, bool from_half) {
  Plan plan;
  plan.axes = axes;
  if (axes.empty()) {
    const int64_t count = sizes.empty() ? rank : static_cast<int64_t>(sizes.size());
    for (int64_t i = 0; i < count; ++i) plan.axes.push_back(i - count);
  }
  for (int64_t& axis : plan.axes) axis = normalize_axis(function, axis, rank);
  if (plan.axes.empty() || (!sizes.empty() && sizes.size() != plan.axes.size())) {
    refuse(function, str_cat(sizes.size(), " sizes for ", plan.axes.size(), " axes"));
  }
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    const int64_t size = x.size(plan.axes[i]);
    const bool halved = from_half && i + 1 == plan.axes.size();
    plan.lengths.push_back(!sizes.empty() ? sizes[i] : halved ? 2 * (size - 1) : size);
  }
  return plan;
}

/// Along every axis of the plan but, if asked, the last.
Tensor transform_axes(std::string_view function, Tensor x, const Plan& plan, size_t count,
                      std::string_view norm, bool inverse) {
  for (size_t i = 0; i < count; ++i) {
    x = transform(function, x, plan.lengths[i], plan.axes[i], norm, inverse);
  }
  return x;
}

Tensor real_forward(std::string_view function, const Tensor& x, std::optional<int64_t> n,
                    int64_t axis, std::string_view norm) {
  const int64_t along = normalize_axis(function, axis, x.rank());
  const int64_t length = n.value_or(x.size(along));
  const Tensor whole = transform(function, with_zero_imaginary(resized(function, x, along, length)),
                                 length, along, norm, false);
  return narrow(whole, along, 0, length / 2 + 1);
}

Tensor real_inverse(std::string_view function, const Tensor& x, std::optional<int64_t> n,
                    int64_t axis, std::string_view norm) {
  const int64_t along = normalize_axis(function, axis, x.rank() - 1);
  const int64_t length = n.value_or(2 * (x.size(along) - 1));
  if (length < 1) refuse(function, str_cat("a transform of ", length, " elements"));
  const Tensor half = resized(function, x, along, length / 2 + 1);
  // The others are conjugates, in reverse.
  const Tensor mirrored = flip(narrow(half, along, 1, (length - 1) / 2), Dims{along});
  const Tensor whole = concat({half, conjugate(mirrored)}, along);
  return select(transform(function, whole, length, along, norm, true), -1, 0);
}

/// The window of a short-time transform: n elements, the given ones in the middle.
Tensor frame_window(std::string_view function, const Tensor& window, const Tensor& x, int64_t n) {
  if (!window.defined()) return ones({n}, x.device().without_autodiff(), x.dtype());
  if (window.rank() != 1 || window.size(0) > n) {
    refuse(function, str_cat("a window of ", window.shape().str(), " does not fit frames of ", n));
  }
  const int64_t before = (n - window.size(0)) / 2;
  return pad(astype(window, x.dtype()), {before, n - window.size(0) - before});
}

int64_t checked_hop(std::string_view function, int64_t n, const StftOptions& options) {
  const int64_t hop = options.hop.value_or(std::max<int64_t>(n / 4, 1));
  if (n < 1 || hop < 1) refuse(function, str_cat("frames of ", n, " samples, ", hop, " apart"));
  return hop;
}

Tensor cosine_window(std::string_view function, int64_t count, bool periodic, double constant,
                     const Device& device, DType dtype) {
  const CallScope scope(function);
  if (count < 0) refuse(function, str_cat("the count is ", count));
  if (count == 1) return ones({1}, device, dtype);
  const auto period = static_cast<double>(periodic ? count : count - 1);
  const Tensor angle = arange(0, count, 1, device, DType::kF64) * (2.0 * std::numbers::pi / period);
  return astype(constant - cos(angle) * (1.0 - constant), dtype);
}

}  // namespace

Tensor fft(const Tensor& x, std::optional<int64_t> n, int64_t axis, std::string_view norm) {
  const CallScope scope;
  check_complex("fft", x);
  return through_f32(promote_one(x, Domain::kFloat),
                     [&](const Tensor& f) { return transform("fft", f, n, axis, norm, false); });
}

Tensor ifft(const Tensor& x, std::optional<int64_t> n, int64_t axis, std::string_view norm) {
  const CallScope scope;
  check_complex("ifft", x);
  return through_f32(promote_one(x, Domain::kFloat),
                     [&](const Tensor& f) { return transform("ifft", f, n, axis, norm, true); });
}

Tensor rfft(const Tensor& x, std::optional<int64_t> n, int64_t axis, std::string_view norm) {
  const CallScope scope;
  return through_f32(promote_one(x, Domain::kFloat),
                     [&](const Tensor& f) { return real_forward("rfft", f, n, axis, norm); });
}

Tensor irfft(const Tensor& x, std::optional<int64_t> n, int64_t axis, std::string_view norm) {
  const CallScope scope;
  check_complex("irfft", x);
  return through_f32(promote_one(x, Domain::kFloat),
                     [&](const Tensor& f) { return real_inverse("irfft", f, n, axis, norm); });
}

Tensor hfft(const Tensor& x, std::optional<int64_t> n, int64_t axis, std::string_view norm) {
  const CallScope scope;
  check_complex("hfft", x);
  return through_f32(promote_one(x, Domain::kFloat), [&](const Tensor& f) {
    return real_inverse("hfft", conjugate(f), n, axis, opposite(norm));
  });
}

Tensor ihfft(const Tensor& x, std::optional<int64_t> n, int64_t axis, std::string_view norm) {
  const CallScope scope;
  return through_f32(promote_one(x, Domain::kFloat), [&](const Tensor& f) {
    return conjugate(real_forward("ihfft", f, n, axis, opposite(norm)));
  });
}

Tensor fftn(const Tensor& x, const Dims& sizes, const Dims& axes, std::string_view norm) {
  const CallScope scope;
  check_complex("fftn", x);
  const Plan plan = plan_of("fftn", x, x.rank() - 1, sizes, axes, false);
  return through_f32(promote_one(x, Domain::kFloat), [&](const Tensor& f) {
    return transform_axes("fftn", f, plan, plan.axes.size(), norm, false);
  });
}

Tensor ifftn(const Tensor& x, const Dims& sizes, const Dims& axes, std::string_view norm) {
  const CallScope scope;
  check_complex("ifftn", x);
  const Plan plan = plan_of("ifftn", x, x.rank() - 1, sizes, axes, false);
  return through_f32(promote_one(x, Domain::kFloat), [&](const Tensor& f) {
    return transform_axes("ifftn", f, plan, plan.axes.size(), norm, true);
  });
}

Tensor rfftn(const Tensor& x, const Dims& sizes, const Dims& axes, std::string_view norm) {
  const CallScope scope;
  const Plan plan = plan_of("rfftn", x, x.rank(), sizes, axes, false);
  return through_f32(promote_one(x, Domain::kFloat), [&](const Tensor& f) {
    const Tensor half = real_forward("rfftn", f, plan.lengths.back(), plan.axes.back(), norm);
    return transform_axes("rfftn", half, plan, plan.axes.size() - 1, norm, false);
  });
}

Tensor irfftn(const Tensor& x, const Dims& sizes, const Dims& axes, std::string_view norm) {
  const CallScope scope;
  check_complex("irfftn", x);
  const Plan plan = plan_of("irfftn", x, x.rank() - 1, sizes, axes, true);
  return through_f32(promote_one(x, Domain::kFloat), [&](const Tensor& f) {
    const Tensor others = transform_axes("irfftn", f, plan, plan.axes.size() - 1, norm, true);
    return real_inverse("irfftn", others, plan.lengths.back(), plan.axes.back(), norm);
  });
}

Tensor hann_window(int64_t count, bool periodic, const Device& device, std::optional<DType> dtype) {
  return cosine_window("hann_window", count, periodic, 0.5, device,
                       dtype.value_or(default_float(device)));
}

Tensor hamming_window(int64_t count, bool periodic, const Device& device,
                      std::optional<DType> dtype) {
  return cosine_window("hamming_window", count, periodic, 0.54, device,
                       dtype.value_or(default_float(device)));
}

Tensor stft(const Tensor& x, int64_t n, const StftOptions& options) {
  const CallScope scope;
  constexpr std::string_view kName = "stft";
  require_float(kName, x.dtype());
  if (x.rank() < 1) refuse(kName, "takes [.., samples], not a scalar");
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return stft(f, n, options); });
  }
  const int64_t hop = checked_hop(kName, n, options);
  const int64_t needed = options.center ? n / 2 + 1 : n;
  if (x.size(-1) < needed) {
    refuse(kName, str_cat(x.size(-1), " samples are too few for frames of ", n));
  }
  const Tensor window = frame_window(kName, options.window, x, n);
  const Tensor padded = options.center ? pad(x, Dims{n / 2, n / 2}, PadMode::kReflect) : x;
  const Tensor frames = unfold(padded, -1, n, hop);  // [.., frames, n]
  return swapaxes(rfft(frames * window, n, -1, options.normalized ? "ortho" : "backward"), -3, -2);
}

Tensor istft(const Tensor& x, int64_t n, const StftOptions& options,
             std::optional<int64_t> length) {
  const CallScope scope;
  constexpr std::string_view kName = "istft";
  require_float(kName, x.dtype());
  check_complex(kName, x);
  if (is_half(x.dtype())) {
    return through_f32(x, [&](const Tensor& f) { return istft(f, n, options, length); });
  }
  const int64_t hop = checked_hop(kName, n, options);
  if (length && *length < 1) refuse(kName, str_cat("a signal of ", *length, " samples"));
  if (x.rank() < 3 || x.size(-3) != n / 2 + 1 || x.size(-2) < 1) {
    refuse(kName, str_cat("takes [.., ", n / 2 + 1, ", frames, 2], not ", x.shape().str()));
  }
  const Tensor window = frame_window(kName, options.window, x, n);
  const Tensor frames =
      irfft(swapaxes(x, -3, -2), n, -1, options.normalized ? "ortho" : "backward") * window;
  const int64_t count = frames.size(-2);
  if (count - 1 > (dispatch::kMaxElements - n) / hop) {
    refuse(kName, str_cat(count, " frames, ", hop, " apart, are too long a signal"));
  }
  const int64_t samples = (count - 1) * hop + n;
  const Device device = x.device().without_autodiff();
  const Tensor position = ravel(unsqueeze(arange(0, count, 1, device, DType::kI64) * hop, 1) +
                                arange(0, n, 1, device, DType::kI64));
  const auto overlap = [&](const Tensor& from) {  // [.., frames, n] -> [.., samples]
    Shape shape = from.shape();
    shape.sizes().pop_back();
    shape.sizes().back() = samples;
    require_shape(kName, shape);
    return index_add(zeros(shape, device, from.dtype()), -1, position, flatten(from, -2, -1));
  };
  const Tensor weight = overlap(broadcast_to(square(window), {count, n}));
  const int64_t start = options.center ? n / 2 : 0;
  const int64_t whole = samples - 2 * start;
  const int64_t kept = std::min(length.value_or(whole), samples - start);
  const Tensor signal = narrow(overlap(frames) / weight, -1, start, kept);
  return length ? resized(kName, signal, signal.rank() - 1, *length) : signal;
}

}  // namespace remora
