#include "kernels/cpu/conv2d.h"

#include <algorithm>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

using dispatch::ConvAttrs;
using dispatch::OpCode;

constexpr double kNsPerMultiply = 0.03;
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
                       int64_t tile, T* columns, T* buffer, T* out) {
  const int64_t rows = channels * conv.taps();
  if (begin == end)
    gemm(conv.group_out, rows, 0, Matrix<T>{}, Matrix<T>{}, false, out, conv.rows());
  for (int64_t at = begin; at < end; at += tile) {
    const int64_t stop = std::min(end, at + tile);
    const int64_t channel = group * conv.group_in + first_channel;
    unfold(conv, input + channel * conv.plane_in(), channels, at, stop, columns);
    const Matrix<T> left = gradient_tile(conv, gradient, group, at, stop, buffer);
    const Matrix<T> right{columns, 1, stop - at};
    gemm(conv.group_out, rows, stop - at, left, right, at != begin, out, conv.rows());
  }
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
  const TileScratch sizes = tile_scratch(conv, conv.rows());
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(sizes.bytes(call.threads.threads(), call.out().dtype)));
  auto* out = call.out().as<T>();
  const int64_t tile = conv_tile_pixels(conv.rows());
  const int64_t tiles = ceil_div(conv.pixels(), tile);
  call.parallel_for(
      conv.groups * tiles, conv.multiplies() * kNsPerMultiply, [&](int64_t block, int slot) {
        const int64_t group = block / tiles;
        const int64_t begin = block % tiles * tile;
        const int64_t end = std::min(conv.pixels(), begin + tile);
        const int64_t width = end - begin;
        T* columns = scratch.as<T>() + slot * sizes.elements();
        unfold(conv, input.as<T>() + group * conv.group_in * conv.plane_in(), conv.group_in, begin,
               end, columns);
        const Matrix<T> left{weight.as<T>() + group * conv.group_out * conv.rows(), conv.rows(), 1};
        const Matrix<T> right{columns, width, 1};
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
  const TileScratch sizes = tile_scratch(conv, conv.rows());
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(sizes.bytes(call.threads.threads(), call.out().dtype)));
  auto* out = call.out().as<T>();
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
        for (int64_t image = first; image < last; ++image) {
          std::fill_n(target + image * conv.channels_in() * conv.plane_in(),
                      conv.group_in * conv.plane_in(), T{0});
        }
        T* columns = scratch.as<T>() + slot * sizes.elements();
        const T* group_weight = weight.as<T>() + group * conv.group_out * conv.rows();
        for (int64_t begin = first * conv.plane_out(); begin < last * conv.plane_out();
             begin += tile) {
          const int64_t end = std::min(last * conv.plane_out(), begin + tile);
          const Matrix<T> right = gradient_tile(conv, gradient.as<T>(), group, begin, end,
                                                columns + sizes.column_elements);
          const Matrix<T> left{group_weight, 1, conv.rows()};
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
  const WeightGradCut cut(conv);
  const TileScratch sizes = tile_scratch(conv, cut.rows(conv));
  REMORA_ASSIGN_OR_RETURN(const Scratch scratch,
                          call.scratch(sizes.bytes(call.threads.threads(), call.out().dtype)));
  REMORA_ASSIGN_OR_RETURN(const Scratch partials, call.scratch(cut.partial_elements(conv) *
                                                               static_cast<int64_t>(sizeof(T))));
  auto* out = call.out().as<T>();
  const int64_t tile = conv_tile_pixels(cut.rows(conv));
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
                      tile, columns, columns + sizes.column_elements,
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
