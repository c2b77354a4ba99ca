#include "kernels/cpu/conv2d.h"

#include <algorithm>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

using dispatch::ConvAttrs;
using dispatch::OpCode;

constexpr double kNsPerMultiply = 0.03;
constexpr double kDepthwiseNs = 0.15;  // a multiplication
constexpr int64_t kMaxBlasExtent = (int64_t{1} << 31) - 1;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

absl::Status check_blas_extents(std::string_view op, const ConvGeometry& conv) {
  const int64_t largest = std::max({conv.plane_out(), conv.rows(), conv.group_out});
  if (largest <= kMaxBlasExtent) return absl::OkStatus();
  return absl::InvalidArgumentError(
      str_cat(op, ": an axis of ", largest, " elements exceeds the limit of ", kMaxBlasExtent));
}

/// Calls `visit(image, pixel, count, column)` for the parts of pixels [begin, end) by image:
/// `pixel` within the image's plane, `column` within the tile.
template <typename Visit>
void for_image_runs(const ConvGeometry& conv, int64_t begin, int64_t end, Visit&& visit) {
  for (int64_t at = begin; at < end;) {
    const int64_t pixel = at % conv.plane_out();
    const int64_t count = std::min(conv.plane_out() - pixel, end - at);
    visit(at / conv.plane_out(), pixel, count, at - begin);
    at += count;
  }
}

/// Offset of a group's channels in an output-shaped tensor.
int64_t out_offset(const ConvGeometry& conv, int64_t image, int64_t group) {
  return (image * conv.channels_out() + group * conv.group_out) * conv.plane_out();
}

/// Output pixels cut into tiles by shape: within an image where it has pixels enough, else across
/// images.
class PixelTiles {
 public:
  PixelTiles(const ConvGeometry& conv, int64_t rows) : pixels_(conv.pixels()) {
    width_ = conv_tile_pixels(rows);
    if (conv.plane_out() < kMinConvTilePixels) {
      run_ = std::max<int64_t>(1, pixels_);
    } else {
      run_ = conv.plane_out();
      const int64_t parts = ceil_div(run_, width_);
      width_ = std::min(width_, ceil_div(ceil_div(run_, parts), 16) * 16);
    }
    per_run_ = ceil_div(run_, width_);
  }
  int64_t count() const { return ceil_div(pixels_, run_) * per_run_; }
  int64_t begin(int64_t tile) const { return tile / per_run_ * run_ + tile % per_run_ * width_; }
  int64_t end(int64_t tile) const { return next(begin(tile), pixels_); }
  /// Where the tile that begins at a pixel ends; no later than `limit`.
  int64_t next(int64_t begin, int64_t limit) const {
    return std::min({limit, begin + width_, (begin / run_ + 1) * run_});
  }

 private:
  int64_t pixels_, width_, run_, per_run_;
};

/// True where the unfolded columns are the input itself.
bool is_pointwise(const ConvGeometry& conv) {
  return conv.taps() == 1 && conv.h.stride == 1 && conv.w.stride == 1 && conv.h.padding == 0 &&
         conv.w.padding == 0;
}

bool in_one_image(const ConvGeometry& conv, int64_t begin, int64_t end) {
  return begin / conv.plane_out() == (end - 1) / conv.plane_out();
}

/// The output gradient of one group for pixels [begin, end) as [group_out, pixels]: in place where
/// the pixels lie in one image, else gathered into `buffer`.
template <typename T>
Matrix<T> gradient_tile(const ConvGeometry& conv, const T* gradient, int64_t group, int64_t begin,
                        int64_t end, T* buffer) {
  if (in_one_image(conv, begin, end)) {
    const int64_t image = begin / conv.plane_out();
    return {gradient + out_offset(conv, image, group) + begin % conv.plane_out(), conv.plane_out(),
            1};
  }
  const int64_t width = end - begin;
  for_image_runs(conv, begin, end,
                 [&](int64_t image, int64_t pixel, int64_t count, int64_t column) {
                   const T* source = gradient + out_offset(conv, image, group) + pixel;
                   for (int64_t channel = 0; channel < conv.group_out; ++channel) {
                     std::copy_n(source + channel * conv.plane_out(), count,
                                 buffer + channel * width + column);
                   }
                 });
  return {buffer, width, 1};
}

/// The columns of a pointwise convolution from pixel `begin` on, of one image: [channels, pixels].
template <typename T>
Matrix<T> pixels_in_place(const ConvGeometry& conv, const T* planes, int64_t begin) {
  const int64_t image = begin / conv.plane_out();
  return {planes + image * conv.channels_in() * conv.plane_in() + begin % conv.plane_out(),
          conv.plane_in(), 1};
}

/// Scratch of one thread: unfolded columns, and a tile of an output-shaped tensor.
struct TileScratch {
  int64_t column_elements, output_elements;
  int64_t elements() const { return column_elements + output_elements; }
  int64_t bytes(int threads, DType dtype) const { return elements() * threads * dtype_size(dtype); }
};
TileScratch tile_scratch(const ConvGeometry& conv, int64_t rows) {
  const int64_t pixels = conv_tile_pixels(rows);
  return {rows * pixels, conv.group_out * pixels};
}

/// How the weight gradient is cut: by group, input channels and part of the pixels.
struct WeightGradCut {
  int64_t chunk_channels, chunks, parts;
  explicit WeightGradCut(const ConvGeometry& conv)
      : chunk_channels(std::min(std::max<int64_t>(1, conv.group_in),
                                ceil_div(kWeightGradRows, std::max<int64_t>(1, conv.taps())))),
        chunks(ceil_div(conv.group_in, chunk_channels)),
        parts(1) {
    if (conv.groups * chunks < kMaxWeightGradParts) {
      parts = std::clamp<int64_t>(conv.pixels() / kMinWeightGradPartPixels, 1, kMaxWeightGradParts);
    }
  }
  int64_t rows(const ConvGeometry& conv) const { return chunk_channels * conv.taps(); }
  int64_t partial_elements(const ConvGeometry& conv) const {
    return parts == 1 ? 0 : parts * conv.channels_out() * conv.rows();
  }
};

/// One block of the weight gradient: these input channels of one group, summed over pixels [begin,
/// end) in order, into `out` of row stride conv.rows().
template <typename T>
void weight_grad_block(const ConvGeometry& conv, const T* gradient, const T* input, int64_t group,
                       int64_t first_channel, int64_t channels, int64_t begin, int64_t end,
                       const PixelTiles& tiles, T* columns, T* buffer, T* out) {
  const int64_t rows = channels * conv.taps();
  if (begin == end)
    gemm(conv.group_out, rows, 0, Matrix<T>{}, Matrix<T>{}, false, out, conv.rows());
  for (int64_t at = begin; at < end; at = tiles.next(at, end)) {
    const int64_t stop = tiles.next(at, end);
    const T* planes = input + (group * conv.group_in + first_channel) * conv.plane_in();
    const Matrix<T> left = gradient_tile(conv, gradient, group, at, stop, buffer);
    Matrix<T> right{columns, 1, stop - at};
    if (is_pointwise(conv) && in_one_image(conv, at, stop)) {
      right = pixels_in_place(conv, planes, at);
      std::swap(right.row_stride, right.column_stride);
    } else {
      unfold(conv, planes, channels, at, stop, columns);
    }
    gemm(conv.group_out, rows, stop - at, left, right, at != begin, out, conv.rows());
  }
}

/// Calls `run(plane, channel)` for every image's channels, several planes a block.
template <typename Run>
void for_planes(const KernelCall& call, const ConvGeometry& conv, Run&& run) {
  const int64_t planes = conv.images * conv.groups;
  const int64_t work = std::max<int64_t>(1, conv.plane_out() * conv.taps());
  const int64_t per_block = std::max<int64_t>(1, kElementBlock / work);
  call.parallel_for(ceil_div(planes, per_block), conv.multiplies() * kDepthwiseNs,
                    [&](int64_t block, int) {
                      const int64_t end = std::min(planes, (block + 1) * per_block);
                      for (int64_t plane = block * per_block; plane < end; ++plane)
                        run(plane, plane % conv.groups);
                    });
}

}  // namespace

ConvGeometry ConvGeometry::of(const ConvAttrs& attrs, std::span<const int64_t> input,
                              std::span<const int64_t> weight, std::span<const int64_t> output) {
  const auto axis = [&](size_t i) {
    return Axis{input[2 + i],    weight[2 + i],    output[2 + i],
                attrs.stride[i], attrs.padding[i], attrs.dilation[i]};
  };
  return {input[0], attrs.groups, weight[1], weight[0] / attrs.groups, axis(0), axis(1)};
}

int64_t conv_tile_pixels(int64_t rows) {
  const int64_t pixels = kConvTileFloats / std::max<int64_t>(1, rows) / 16 * 16;
  return std::clamp(pixels, kMinConvTilePixels, kMaxConvTilePixels);
}

int64_t conv2d_scratch_bytes(OpCode code, std::span<const Spec> inputs,
                             std::span<const Spec> outputs, const dispatch::Attrs& attrs,
                             int threads) {
  const auto& conv_attrs = std::get<ConvAttrs>(attrs);
  const DType dtype = outputs[0].dtype;
  const Dims& first = inputs[0].shape.sizes();
  const Dims& second = inputs[1].shape.sizes();
  const Dims& out = outputs[0].shape.sizes();
  if (code == OpCode::conv2d_weight_grad) {
    const auto conv = ConvGeometry::of(conv_attrs, second, out, first);
    const WeightGradCut cut(conv);
    return tile_scratch(conv, cut.rows(conv)).bytes(threads, dtype) +
           cut.partial_elements(conv) * dtype_size(dtype);
  }
  const auto conv = code == OpCode::conv2d ? ConvGeometry::of(conv_attrs, first, second, out)
                                           : ConvGeometry::of(conv_attrs, out, second, first);
  return tile_scratch(conv, conv.rows()).bytes(threads, dtype);
}

namespace {

template <typename T>
absl::Status conv2d_of(const KernelCall& call) {
  const auto conv = ConvGeometry::of(call.attributes<ConvAttrs>(), call.in(0).sizes,
                                     call.in(1).sizes, call.out().sizes);
  if (call.out().numel() == 0) return absl::OkStatus();
  REMORA_RETURN_IF_ERROR(check_blas_extents("conv2d", conv));
  REMORA_ASSIGN_OR_RETURN(const Packed input, Packed::of(call, call.in(0)));
  REMORA_ASSIGN_OR_RETURN(const Packed weight, Packed::of(call, call.in(1)));
  auto* out = call.out().as<T>();
  if (is_depthwise(conv)) {
    for_planes(call, conv, [&](int64_t plane, int64_t channel) {
      depthwise_plane(conv, input.as<T>() + plane * conv.plane_in(),
                      weight.as<T>() + channel * conv.taps(), out + plane * conv.plane_out());
    });
    return absl::OkStatus();
  }
  const TileScratch sizes = tile_scratch(conv, conv.rows());
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(sizes.bytes(call.threads.threads(), call.out().dtype)));
  const PixelTiles pixel_tiles(conv, conv.rows());
  const int64_t tiles = pixel_tiles.count();
  call.parallel_for(
      conv.groups * tiles, conv.multiplies() * kNsPerMultiply, [&](int64_t block, int slot) {
        const int64_t group = block / tiles;
        const int64_t begin = pixel_tiles.begin(block % tiles);
        const int64_t end = pixel_tiles.end(block % tiles);
        const int64_t width = end - begin;
        T* columns = scratch.as<T>() + slot * sizes.elements();
        const T* planes = input.as<T>() + group * conv.group_in * conv.plane_in();
        const Matrix<T> left{weight.as<T>() + group * conv.group_out * conv.rows(), conv.rows(), 1};
        Matrix<T> right{columns, width, 1};
        if (is_pointwise(conv) && in_one_image(conv, begin, end)) {
          right = pixels_in_place(conv, planes, begin);
        } else {
          unfold(conv, planes, conv.group_in, begin, end, columns);
        }
        if (in_one_image(conv, begin, end)) {
          T* target =
              out + out_offset(conv, begin / conv.plane_out(), group) + begin % conv.plane_out();
          gemm(conv.group_out, width, conv.rows(), left, right, false, target, conv.plane_out());
          return;
        }
        T* buffer = columns + sizes.column_elements;
        gemm(conv.group_out, width, conv.rows(), left, right, false, buffer, width);
        for_image_runs(conv, begin, end,
                       [&](int64_t image, int64_t pixel, int64_t count, int64_t column) {
                         T* target = out + out_offset(conv, image, group) + pixel;
                         for (int64_t channel = 0; channel < conv.group_out; ++channel) {
                           std::copy_n(buffer + channel * width + column, count,
                                       target + channel * conv.plane_out());
                         }
                       });
      });
  return absl::OkStatus();
}

template <typename T>
absl::Status conv2d_input_grad_of(const KernelCall& call) {
  const auto conv = ConvGeometry::of(call.attributes<ConvAttrs>(), call.out().sizes,
                                     call.in(1).sizes, call.in(0).sizes);
  if (call.out().numel() == 0) return absl::OkStatus();
  REMORA_RETURN_IF_ERROR(check_blas_extents("conv2d_input_grad", conv));
  REMORA_ASSIGN_OR_RETURN(const Packed gradient, Packed::of(call, call.in(0)));
  REMORA_ASSIGN_OR_RETURN(const Packed weight, Packed::of(call, call.in(1)));
  auto* out = call.out().as<T>();
  if (is_depthwise(conv)) {
    for_planes(call, conv, [&](int64_t plane, int64_t channel) {
      depthwise_input_grad(conv, gradient.as<T>() + plane * conv.plane_out(),
                           weight.as<T>() + channel * conv.taps(), out + plane * conv.plane_in());
    });
    return absl::OkStatus();
  }
  const TileScratch sizes = tile_scratch(conv, conv.rows());
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(sizes.bytes(call.threads.threads(), call.out().dtype)));
  const PixelTiles tiles(conv, conv.rows());
  const int64_t tile = conv_tile_pixels(conv.rows());
  // Columns overlap in the input, so a block owns whole images: several small ones, or one tile by
  // tile.
  const int64_t images_per_block =
      std::max<int64_t>(1, tile / std::max<int64_t>(1, conv.plane_out()));
  const int64_t blocks = ceil_div(conv.images, images_per_block);
  call.parallel_for(
      conv.groups * blocks, conv.multiplies() * kNsPerMultiply, [&](int64_t block, int slot) {
        const int64_t group = block / blocks;
        const int64_t first = block % blocks * images_per_block;
        const int64_t last = std::min(conv.images, first + images_per_block);
        T* target = out + group * conv.group_in * conv.plane_in();
        const bool in_place = is_pointwise(conv) && conv.plane_out() >= kMinConvTilePixels;
        for (int64_t image = first; image < last && !in_place; ++image) {
          std::fill_n(target + image * conv.channels_in() * conv.plane_in(),
                      conv.group_in * conv.plane_in(), T{0});
        }
        T* columns = scratch.as<T>() + slot * sizes.elements();
        const T* group_weight = weight.as<T>() + group * conv.group_out * conv.rows();
        for (int64_t begin = first * conv.plane_out(); begin < last * conv.plane_out();
             begin = tiles.next(begin, last * conv.plane_out())) {
          const int64_t end = tiles.next(begin, last * conv.plane_out());
          const Matrix<T> right = gradient_tile(conv, gradient.as<T>(), group, begin, end,
                                                columns + sizes.column_elements);
          const Matrix<T> left{group_weight, 1, conv.rows()};
          if (in_place) {
            const Matrix<T> pixels = pixels_in_place(conv, target, begin);
            gemm(conv.rows(), end - begin, conv.group_out, left, right, false,
                 const_cast<T*>(pixels.data), pixels.row_stride);
            continue;
          }
          gemm(conv.rows(), end - begin, conv.group_out, left, right, false, columns, end - begin);
          fold_add(conv, columns, conv.group_in, begin, end, target);
        }
      });
  return absl::OkStatus();
}

template <typename T>
absl::Status conv2d_weight_grad_of(const KernelCall& call) {
  const auto conv = ConvGeometry::of(call.attributes<ConvAttrs>(), call.in(1).sizes,
                                     call.out().sizes, call.in(0).sizes);
  const int64_t numel = call.out().numel();
  if (numel == 0) return absl::OkStatus();
  REMORA_RETURN_IF_ERROR(check_blas_extents("conv2d_weight_grad", conv));
  REMORA_ASSIGN_OR_RETURN(const Packed gradient, Packed::of(call, call.in(0)));
  REMORA_ASSIGN_OR_RETURN(const Packed input, Packed::of(call, call.in(1)));
  if (is_depthwise(conv)) {
    call.parallel_for(conv.groups, conv.multiplies() * kDepthwiseNs, [&](int64_t channel, int) {
      depthwise_filter_grad(conv, gradient.as<T>() + channel * conv.plane_out(),
                            input.as<T>() + channel * conv.plane_in(),
                            call.out().as<T>() + channel * conv.taps());
    });
    return absl::OkStatus();
  }
  const WeightGradCut cut(conv);
  const TileScratch sizes = tile_scratch(conv, cut.rows(conv));
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(sizes.bytes(call.threads.threads(), call.out().dtype)));
  REMORA_ASSIGN_OR_RETURN(const Scratch partials, call.scratch(cut.partial_elements(conv) *
                                                               static_cast<int64_t>(sizeof(T))));
  auto* out = call.out().as<T>();
  const PixelTiles tiles(conv, cut.rows(conv));
  const double cost = conv.multiplies() * kNsPerMultiply;
  call.parallel_for(conv.groups * cut.chunks * cut.parts, cost, [&](int64_t block, int slot) {
    const int64_t part = block % cut.parts;
    const int64_t group = block / cut.parts / cut.chunks;
    const int64_t channel = block / cut.parts % cut.chunks * cut.chunk_channels;
    T* columns = scratch.as<T>() + slot * sizes.elements();
    T* target = cut.parts == 1 ? out : partials.as<T>() + part * numel;
    weight_grad_block(conv, gradient.as<T>(), input.as<T>(), group, channel,
                      std::min(cut.chunk_channels, conv.group_in - channel),
                      conv.pixels() * part / cut.parts, conv.pixels() * (part + 1) / cut.parts,
                      tiles, columns, columns + sizes.column_elements,
                      target + group * conv.group_out * conv.rows() + channel * conv.taps());
  });
  if (cut.parts == 1) return absl::OkStatus();
  for (int64_t i = 0; i < numel; ++i) {
    T total = partials.as<T>()[i];
    for (int64_t part = 1; part < cut.parts; ++part) total += partials.as<T>()[part * numel + i];
    out[i] = total;
  }
  return absl::OkStatus();
}

}  // namespace

namespace kernels {

absl::Status conv2d(const KernelCall& call) {
  return call.out().dtype == DType::kF64 ? conv2d_of<double>(call) : conv2d_of<float>(call);
}
absl::Status conv2d_input_grad(const KernelCall& call) {
  return call.out().dtype == DType::kF64 ? conv2d_input_grad_of<double>(call)
                                         : conv2d_input_grad_of<float>(call);
}
absl::Status conv2d_weight_grad(const KernelCall& call) {
  return call.out().dtype == DType::kF64 ? conv2d_weight_grad_of<double>(call)
                                         : conv2d_weight_grad_of<float>(call);
}

}  // namespace kernels
}  // namespace remora::cpu
