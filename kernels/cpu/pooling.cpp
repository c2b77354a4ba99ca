#include <limits>
#include <vector>

#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kPoolNs = 0.5;

/// One axis of the pooling windows.
struct Window {
  int64_t size, kernel, stride, padding, dilation;
  /// The window's positions inside the input: from `begin`, in steps of the dilation, below `end`.
  struct Span {
    int64_t begin, end;
  };
  Span at(int64_t output) const {
    const int64_t start = output * stride - padding;
    const int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int64_t end = start + (kernel - 1) * dilation + 1;
    return {start + skipped * dilation, std::min(end, size)};
  }
};

/// The outputs whose element under one tap lies inside the input: [begin, end).
Window::Span outputs_inside(const Window& window, int64_t tap, int64_t outputs) {
  const int64_t shift = tap * window.dilation - window.padding;
  const int64_t begin = shift >= 0 ? 0 : (-shift + window.stride - 1) / window.stride;
  const int64_t end = shift >= window.size ? 0 : (window.size - 1 - shift) / window.stride + 1;
  return {std::min(begin, outputs), std::min(end, outputs)};
}

/// Goes on with the maxima of `count` neighbouring windows: `x` are their elements under one tap,
/// `stride` apart, the first of which lies at `position` of the plane.
template <typename T, typename Index>
void take_tap(const T* __restrict x, int64_t stride, int64_t position, int64_t count,
              T* __restrict values, Index* __restrict indices) {
  const auto first = static_cast<Index>(position);
  const auto step = static_cast<Index>(stride);
  for (Index i = 0; i < static_cast<Index>(count); ++i) {
    const T element = x[i * step];
    // "Not at most" is also true of NaN; the first NaN wins. Selects instead of a branch: which
    // element is larger cannot be predicted.
    const bool better = static_cast<bool>(!(element <= values[i]) & (values[i] == values[i]));
    values[i] = better ? element : values[i];
    indices[i] = better ? first + i * step : indices[i];
  }
}

/// The pooling windows and the shape of the result.
struct Pooling {
  Window h, w;
  int64_t out_h, out_w;
  std::vector<Window::Span> columns;  // of each output, as in `Window::at`

  template <typename T, typename Index>
  void row(const T* plane, int64_t y, T* values, Index* indices) const {
    constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                               : std::numeric_limits<T>::lowest();
    const Window::Span rows = h.at(y);
    std::fill_n(values, out_w, kLowest);
    // The first element inside the window; 0 for one that touches only padding.
    for (int64_t x = 0; x < out_w; ++x) {
      const Window::Span& span = columns[static_cast<size_t>(x)];
      const bool any = rows.begin < rows.end && span.begin < span.end;
      indices[x] = static_cast<Index>(any ? rows.begin * w.size + span.begin : 0);
    }
    for (int64_t in_y = rows.begin; in_y < rows.end; in_y += h.dilation) {
      for (int64_t tap = 0; tap < w.kernel; ++tap) {
        const Window::Span outputs = outputs_inside(w, tap, out_w);
        if (outputs.begin >= outputs.end) continue;
        const int64_t position =
            in_y * w.size + outputs.begin * w.stride + tap * w.dilation - w.padding;
        const int64_t count = outputs.end - outputs.begin;
        if (w.stride == 2) {  // a constant makes the loop one of vectors
          take_tap(plane + position, 2, position, count, values + outputs.begin,
                   indices + outputs.begin);
        } else {
          take_tap(plane + position, w.stride, position, count, values + outputs.begin,
                   indices + outputs.begin);
        }
      }
    }
  }
};

template <typename T, typename Index>
absl::Status pool(const KernelCall& call, const T* in, const Pooling& pooling) {
  const TensorView& out = call.out();
  const Window& h = pooling.h;
  const Window& w = pooling.w;
  const int64_t planes = out.size(0) * out.size(1);
  const int64_t out_plane = pooling.out_h * pooling.out_w;
  auto* values = out.as<T>();
  auto* indices = call.out(1).as<int64_t>();
  const double plane_work = static_cast<double>(out_plane) *
                            static_cast<double>(std::min(h.kernel, h.size)) *
                            static_cast<double>(std::min(w.kernel, w.size));
  const auto per_block = static_cast<int64_t>(
      std::max(1.0, static_cast<double>(kElementBlock) / std::max(1.0, plane_work)));
  const double cost = static_cast<double>(planes) * plane_work * kPoolNs;
  call.parallel_for((planes + per_block - 1) / per_block, cost, [&](int64_t block, int) {
    std::vector<Index> row(static_cast<size_t>(pooling.out_w));
    for (int64_t p = block * per_block; p < std::min(planes, (block + 1) * per_block); ++p) {
      const T* plane = in + p * h.size * w.size;
      for (int64_t y = 0; y < pooling.out_h; ++y) {
        const int64_t position = p * out_plane + y * pooling.out_w;
        pooling.row(plane, y, values + position, row.data());
        std::copy(row.begin(), row.end(), indices + position);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

namespace kernels {

absl::Status max_pool2d(const KernelCall& call) {
  const auto& attrs = call.attributes<dispatch::PoolAttrs>();
  const TensorView& in = call.in(0);
  if (call.out().numel() == 0) return absl::OkStatus();
  const auto axis_window = [&](size_t i) {
    return Window{in.sizes[2 + i], attrs.kernel[i], attrs.stride[i], attrs.padding[i],
                  attrs.dilation[i]};
  };
  auto packed = Packed::of(call, in);
  if (!packed.ok()) return packed.status();
  Pooling pooling{axis_window(0), axis_window(1), call.out().size(2), call.out().size(3), {}};
  for (int64_t x = 0; x < pooling.out_w; ++x) pooling.columns.push_back(pooling.w.at(x));
  // Positions within a plane, in half the bits where they fit.
  const bool narrow = pooling.h.size * pooling.w.size < int64_t{1} << 31;
  return with_type(in.dtype, [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return narrow ? pool<T, int32_t>(call, packed->as<T>(), pooling)
                    : pool<T, int64_t>(call, packed->as<T>(), pooling);
    }
    return absl::UnimplementedError("max_pool2d: takes numbers");
  });
}

}  // namespace kernels
}  // namespace remora::cpu
