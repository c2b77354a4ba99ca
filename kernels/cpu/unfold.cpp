#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/conv2d.h"

namespace remora::cpu {
namespace {

/// The pixels of one run that lie inside the input under one tap.
struct TapRun {
  int64_t begin, end;  // the run's columns, from the first inside to the first behind
  int64_t source;      // input offset of the first inside, from channel 0 of the tile's channels
};

/// The pixels of a run, by offset, that fall inside the input along x.
std::pair<int64_t, int64_t> inside(const ConvGeometry::Axis& axis, int64_t in_x, int64_t count) {
  if (in_x >= axis.in) return {0, 0};
  const int64_t begin = in_x >= 0 ? 0 : std::min(count, (-in_x + axis.stride - 1) / axis.stride);
  const int64_t end = std::min(count, (axis.in - 1 - in_x) / axis.stride + 1);
  return {begin, std::max(begin, end)};
}

/// Calls `rows(tap, runs, gaps)` for each tap of the kernel with the runs of pixels [begin, end)
/// under it. Pixels in the padding are left out; `gaps` says whether there are any.
template <typename Rows>
void for_taps(const ConvGeometry& conv, int64_t begin, int64_t end, Rows&& rows) {
  std::vector<PixelRun> pixels;
  pixels.reserve(static_cast<size_t>((end - begin) / conv.w.out + 2));
  for_pixel_runs(conv, begin, end, [&](const PixelRun& run) { pixels.push_back(run); });
  std::vector<TapRun> runs;
  runs.reserve(pixels.size());
  for (int64_t ky = 0; ky < conv.h.kernel; ++ky) {
    for (int64_t kx = 0; kx < conv.w.kernel; ++kx) {
      runs.clear();
      int64_t covered = 0;
      for (const PixelRun& run : pixels) {
        const int64_t in_y = run.y * conv.h.stride - conv.h.padding + ky * conv.h.dilation;
        const int64_t in_x = run.x * conv.w.stride - conv.w.padding + kx * conv.w.dilation;
        if (in_y < 0 || in_y >= conv.h.in) continue;
        const auto [first, last] = inside(conv.w, in_x, run.count);
        if (first == last) continue;
        covered += last - first;
        runs.push_back({run.column + first, run.column + last,
                        run.image * conv.channels_in() * conv.plane_in() + in_y * conv.w.in + in_x +
                            first * conv.w.stride});
      }
      rows(ky * conv.w.kernel + kx, runs, covered < end - begin);
    }
  }
}

/// Copies a short run; blocks of fixed size are single vector moves, the last one overlaps.
template <typename T>
void copy_run(const T* __restrict source, T* __restrict target, int64_t count) {
  if (count >= 8) {
    for (int64_t i = 0; i + 8 <= count; i += 8) std::memcpy(target + i, source + i, 8 * sizeof(T));
    std::memcpy(target + count - 8, source + count - 8, 8 * sizeof(T));
  } else if (count >= 4) {
    std::memcpy(target, source, 4 * sizeof(T));
    std::memcpy(target + count - 4, source + count - 4, 4 * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i];
  }
}

}  // namespace

template <typename T>
void unfold(const ConvGeometry& conv, const T* input, int64_t channels, int64_t begin, int64_t end,
            T* columns) {
  const int64_t width = end - begin;
  const int64_t stride = conv.w.stride;
  for_taps(conv, begin, end, [&](int64_t tap, const std::vector<TapRun>& runs, bool gaps) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const T* plane = input + channel * conv.plane_in();
      T* row = columns + (channel * conv.taps() + tap) * width;
      if (gaps) std::fill_n(row, width, T{0});
      if (stride == 1) {
        for (const TapRun& run : runs)
          copy_run(plane + run.source, row + run.begin, run.end - run.begin);
        continue;
      }
      for (const TapRun& run : runs) {
        const T* source = plane + run.source;
        for (int64_t i = run.begin; i < run.end; ++i, source += stride) row[i] = *source;
      }
    }
  });
}

template <typename T>
void fold_add(const ConvGeometry& conv, const T* columns, int64_t channels, int64_t begin,
              int64_t end, T* input) {
  const int64_t width = end - begin;
  const int64_t stride = conv.w.stride;
  for_taps(conv, begin, end, [&](int64_t tap, const std::vector<TapRun>& runs, bool) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      T* plane = input + channel * conv.plane_in();
      const T* row = columns + (channel * conv.taps() + tap) * width;
      for (const TapRun& run : runs) {
        T* __restrict target = plane + run.source;
        const T* __restrict source = row + run.begin;
        const int64_t count = run.end - run.begin;
        if (stride == 1) {
          for (int64_t i = 0; i < count; ++i) target[i] += source[i];
        } else {
          for (int64_t i = 0; i < count; ++i) target[i * stride] += source[i];
        }
      }
    }
  });
}

template void unfold(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void unfold(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, double*);
template void fold_add(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void fold_add(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, double*);

}  // namespace remora::cpu
