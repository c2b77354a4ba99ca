// 2-D convolution and its gradients as matrix products over unfolded input ("im2col"; Chellapilla,
// Puri, Simard, "High performance convolutional neural networks for document processing", 2006).
// The columns are never whole in memory: they are made tile by tile of output pixels, and tiles are
// cut by shape alone.
#pragma once

#include <cstdint>
#include <span>

#include "dispatch/op.h"
#include "kernels/cpu/limits.h"

namespace remora::cpu {

/// All sizes of a convolution. Pixels are the output's, counted over all images.
struct ConvGeometry {
  struct Axis {
    int64_t in, kernel, out, stride, padding, dilation;
  };
  int64_t images, groups;
  int64_t group_in;   // input channels of one group
  int64_t group_out;  // output channels of one group
  Axis h, w;

  static ConvGeometry of(const dispatch::ConvAttrs& attrs, std::span<const int64_t> input,
                         std::span<const int64_t> weight, std::span<const int64_t> output);
  int64_t channels_in() const { return groups * group_in; }
  int64_t channels_out() const { return groups * group_out; }
  int64_t plane_in() const { return h.in * w.in; }
  int64_t plane_out() const { return h.out * w.out; }
  int64_t taps() const { return h.kernel * w.kernel; }
  int64_t rows() const { return group_in * taps(); }  // of the unfolded columns of one group
  int64_t pixels() const { return images * plane_out(); }
  double multiplies() const {
    return static_cast<double>(pixels()) * static_cast<double>(rows()) *
           static_cast<double>(channels_out());
  }
};

/// Width in pixels of a tile of unfolded columns with this many rows.
int64_t conv_tile_pixels(int64_t rows);

/// A range of pixels, cut where the image or the output row ends.
struct PixelRun {
  int64_t image, y, x;  // where it begins
  int64_t count;
  int64_t column;  // of its first pixel within the tile
};

/// Calls `visit(run)` for the runs of pixels [begin, end).
template <typename Visit>
void for_pixel_runs(const ConvGeometry& conv, int64_t begin, int64_t end, Visit&& visit) {
  for (int64_t pixel = begin; pixel < end;) {
    const int64_t x = pixel % conv.w.out;
    const int64_t count = std::min(conv.w.out - x, end - pixel);
    visit(PixelRun{pixel / conv.plane_out(), pixel / conv.w.out % conv.h.out, x, count,
                   pixel - begin});
    pixel += count;
  }
}

/// Unfolds `channels` input channels for pixels [begin, end): columns[(c, ky, kx), pixel]. `input`
/// points at the first of these channels in image 0; rows of `columns` are `end - begin` apart.
template <typename T>
void unfold(const ConvGeometry& conv, const T* input, int64_t channels, int64_t begin, int64_t end,
            T* columns);
/// The transpose of `unfold`: adds columns into the input's gradient.
template <typename T>
void fold_add(const ConvGeometry& conv, const T* columns, int64_t channels, int64_t begin,
              int64_t end, T* input);

/// Scratch bytes of a convolution or gradient, strided operands' copies aside.
int64_t conv2d_scratch_bytes(dispatch::OpCode code, std::span<const Spec> inputs,
                             std::span<const Spec> outputs, const dispatch::Attrs& attrs,
                             int threads);

}  // namespace remora::cpu
