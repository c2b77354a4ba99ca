// 2-D convolution where every channel has one filter of its own: rows of the input are added up tap
// by tap, nothing is unfolded.
#pragma once

#include "kernels/cpu/conv2d.h"

namespace remora::cpu {

/// True for a convolution, or a gradient of one, that the functions below compute.
inline bool is_depthwise(const ConvGeometry& conv) {
  return conv.groups > 1 && conv.group_in == 1 && conv.group_out == 1;
}

/// One plane: output [h.out, w.out] of input [h.in, w.in] and a filter [h.kernel, w.kernel].
template <typename T>
void depthwise_plane(const ConvGeometry& conv, const T* input, const T* filter, T* output);
/// The gradient of the input's plane by that of the output's.
template <typename T>
void depthwise_input_grad(const ConvGeometry& conv, const T* gradient, const T* filter, T* input);
/// The gradient of one channel's filter, over all images; `gradient` and `input` point at the
/// channel in image 0. Sums are taken in f64.
template <typename T>
void depthwise_filter_grad(const ConvGeometry& conv, const T* gradient, const T* input, T* filter);

}  // namespace remora::cpu
