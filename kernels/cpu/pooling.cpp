#include <limits>
#include <vector>

#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kPoolNs = 1.5;

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

/// The largest element of one window and the lowest index that has it; the first NaN wins. A window
/// that touches only padding gives the lowest value, at index 0.
template <typename T>
void pool_window(const T* plane, Window::Span rows, Window::Span columns, const Window& h,
                 const Window& w, T& out_value, int64_t& out_index) {
  T value = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                 : std::numeric_limits<T>::lowest();
  int64_t index = rows.begin < rows.end && columns.begin < columns.end
                      ? rows.begin * w.size + columns.begin
                      : 0;
  for (int64_t y = rows.begin; y < rows.end; y += h.dilation) {
    for (int64_t x = columns.begin; x < columns.end; x += w.dilation) {
      const T element = plane[y * w.size + x];
      // "Not at most" is also true of NaN. Selects instead of a branch: which element is larger
      // cannot be predicted.
      const bool better = static_cast<bool>(!(element <= value) & (value == value));
      value = better ? element : value;
      index = better ? y * w.size + x : index;
    }
  }
  out_value = value;
  out_index = index;
}

template <typename T>
absl::Status pool(const KernelCall& call, const T* in, const Window& h, const Window& w) {
  const TensorView& out = call.out();
  const int64_t planes = out.size(0) * out.size(1);
  const int64_t out_h = out.size(2);
  const int64_t out_w = out.size(3);
  auto* values = out.as<T>();
  auto* indexes = call.out(1).as<int64_t>();
  const double plane_work = static_cast<double>(out_h * out_w) *
                            static_cast<double>(std::min(h.kernel, h.size)) *
                            static_cast<double>(std::min(w.kernel, w.size));
  const auto per_block = static_cast<int64_t>(
      std::max(1.0, static_cast<double>(kElementBlock) / std::max(1.0, plane_work)));
  const double cost = static_cast<double>(planes) * plane_work * kPoolNs;
  std::vector<Window::Span> columns;
  for (int64_t x = 0; x < out_w; ++x) columns.push_back(w.at(x));
  call.parallel_for((planes + per_block - 1) / per_block, cost, [&](int64_t block, int) {
    for (int64_t p = block * per_block; p < std::min(planes, (block + 1) * per_block); ++p) {
      const T* plane = in + p * h.size * w.size;
      int64_t position = p * out_h * out_w;
      for (int64_t y = 0; y < out_h; ++y) {
        const Window::Span rows = h.at(y);
        for (const Window::Span& span : columns) {
          pool_window(plane, rows, span, h, w, values[position], indexes[position]);
          ++position;
        }
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
  return with_type(in.dtype, [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return pool(call, packed->as<T>(), axis_window(0), axis_window(1));
    }
    return absl::UnimplementedError("max_pool2d: takes numbers");
  });
}

}  // namespace kernels
}  // namespace remora::cpu
