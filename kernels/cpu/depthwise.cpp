#include "kernels/cpu/depthwise.h"

#include <algorithm>
#include <cmath>

namespace remora::cpu {
namespace {

/// Where an output row or column meets the input under one tap.
struct Reach {
  int64_t begin, end;  // outputs whose element under the tap lies inside the input
  int64_t first;       // the input position of output `begin`
};

Reach reach_of(const ConvGeometry::Axis& axis, int64_t tap) {
  const int64_t shift = tap * axis.dilation - axis.padding;  // input position of output 0
  Reach reach{};
  reach.begin = shift >= 0 ? 0 : std::min(axis.out, (-shift + axis.stride - 1) / axis.stride);
  reach.end = shift >= axis.in ? 0 : std::min(axis.out, (axis.in - 1 - shift) / axis.stride + 1);
  reach.end = std::max(reach.begin, reach.end);
  reach.first = reach.begin * axis.stride + shift;
  return reach;
}

/// Calls `visit(tap, output_offset, input_offset, count)` for each row of outputs under each tap;
/// the input's elements are w.stride apart. Taps come in order for each output.
template <typename Visit>
void for_tap_rows(const ConvGeometry& conv, Visit&& visit) {
  for (int64_t ky = 0; ky < conv.h.kernel; ++ky) {
    const Reach rows = reach_of(conv.h, ky);
    for (int64_t kx = 0; kx < conv.w.kernel; ++kx) {
      const Reach columns = reach_of(conv.w, kx);
      const int64_t count = columns.end - columns.begin;
      if (count == 0) continue;
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        const int64_t in_y = rows.first + (y - rows.begin) * conv.h.stride;
        visit(ky * conv.w.kernel + kx, y * conv.w.out + columns.begin,
              in_y * conv.w.in + columns.first, count);
      }
    }
  }
}

}  // namespace

template <typename T>
void depthwise_plane(const ConvGeometry& conv, const T* input, const T* filter, T* output) {
  std::fill_n(output, conv.plane_out(), T{0});
  for_tap_rows(conv, [&](int64_t tap, int64_t to, int64_t from, int64_t count) {
    const T weight = filter[tap];
    T* __restrict out = output + to;
    const T* __restrict in = input + from;
    if (conv.w.stride == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = std::fma(weight, in[i], out[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = std::fma(weight, in[i * conv.w.stride], out[i]);
    }
  });
}

template <typename T>
void depthwise_input_grad(const ConvGeometry& conv, const T* gradient, const T* filter, T* input) {
  std::fill_n(input, conv.plane_in(), T{0});
  for_tap_rows(conv, [&](int64_t tap, int64_t from, int64_t to, int64_t count) {
    const T weight = filter[tap];
    T* __restrict out = input + to;
    const T* __restrict in = gradient + from;
    if (conv.w.stride == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = std::fma(weight, in[i], out[i]);
    } else {
      for (int64_t i = 0; i < count; ++i)
        out[i * conv.w.stride] = std::fma(weight, in[i], out[i * conv.w.stride]);
    }
  });
}

template <typename T>
void depthwise_filter_grad(const ConvGeometry& conv, const T* gradient, const T* input, T* filter) {
  constexpr int64_t kLanes = 16;
  for (int64_t ky = 0; ky < conv.h.kernel; ++ky) {
    const Reach rows = reach_of(conv.h, ky);
    for (int64_t kx = 0; kx < conv.w.kernel; ++kx) {
      const Reach columns = reach_of(conv.w, kx);
      const int64_t count = columns.end - columns.begin;
      double total = 0.0;
      for (int64_t image = 0; image < conv.images; ++image) {
        const T* in_plane = input + image * conv.channels_in() * conv.plane_in();
        const T* out_plane = gradient + image * conv.channels_out() * conv.plane_out();
        T lanes[kLanes] = {};
        for (int64_t y = rows.begin; y < rows.end; ++y) {
          const int64_t in_y = rows.first + (y - rows.begin) * conv.h.stride;
          const T* __restrict g = out_plane + y * conv.w.out + columns.begin;
          const T* __restrict x = in_plane + in_y * conv.w.in + columns.first;
          const int64_t stride = conv.w.stride;
          int64_t i = 0;
          for (; stride == 1 && i + kLanes <= count; i += kLanes) {
            for (int64_t lane = 0; lane < kLanes; ++lane)
              lanes[lane] = std::fma(g[i + lane], x[i + lane], lanes[lane]);
          }
          for (; i < count; ++i)
            lanes[i % kLanes] = std::fma(g[i], x[i * stride], lanes[i % kLanes]);
        }
        for (const T lane : lanes) total += static_cast<double>(lane);
      }
      filter[ky * conv.w.kernel + kx] = static_cast<T>(total);
    }
  }
}

#define REMORA_DEPTHWISE(T)                                                        \
  template void depthwise_plane(const ConvGeometry&, const T*, const T*, T*);      \
  template void depthwise_input_grad(const ConvGeometry&, const T*, const T*, T*); \
  template void depthwise_filter_grad(const ConvGeometry&, const T*, const T*, T*);
REMORA_DEPTHWISE(float)
REMORA_DEPTHWISE(double)
#undef REMORA_DEPTHWISE

}  // namespace remora::cpu
