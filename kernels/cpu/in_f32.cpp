#include "kernels/cpu/in_f32.h"

#include <algorithm>

#include "dispatch/error.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kWidenNs = 0.5;

/// A tensor of 16-bit floats as f32, or any other as it is.
struct Widened {
  TensorView view;
  Dims strides;
  Scratch data;
};

/// Row-major f32 memory of the view's sizes, not filled.
absl::Status allocate_f32(const KernelCall& call, const TensorView& view, Widened& out) {
  REMORA_ASSIGN_OR_RETURN(out.data,
                          call.scratch(view.numel() * static_cast<int64_t>(sizeof(float))));
  out.strides = contiguous_strides(Shape(view.sizes));
  out.view = {out.data.as<std::byte>(), DType::kF32, view.sizes, out.strides};
  return absl::OkStatus();
}

void widen(const KernelCall& call, const TensorView& source, float* out) {
  const auto nest = broadcast_nest<1>(source.sizes, {&source});
  for_blocks(call, nest.numel, kWidenNs, [&](int64_t begin, int64_t end) {
    for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
      widen_row(source.dtype, source.data + offsets[0] * dtype_size(source.dtype),
                nest.inner_strides()[0], count, out + position);
    });
  });
}

void narrow(const KernelCall& call, const float* source, const TensorView& out) {
  for_blocks(call, out.numel(), kWidenNs, [&](int64_t begin, int64_t end) {
    narrow_row(out.dtype, source + begin, end - begin, out.data + begin * dtype_size(out.dtype));
  });
}

}  // namespace

absl::Status run_in_f32(const KernelCall& call, Kernel kernel) {
  std::vector<Widened> widened(call.inputs.size() + call.outputs.size());
  std::vector<TensorView> inputs, outputs;
  size_t next = 0;
  for (const TensorView& input : call.inputs) {
    Widened& place = widened[next++];
    if (is_half(input.dtype)) {
      REMORA_RETURN_IF_ERROR(allocate_f32(call, input, place));
      widen(call, input, place.data.as<float>());
    }
    inputs.push_back(is_half(input.dtype) ? place.view : input);
  }
  for (const TensorView& output : call.outputs) {
    Widened& place = widened[next++];
    if (is_half(output.dtype)) REMORA_RETURN_IF_ERROR(allocate_f32(call, output, place));
    outputs.push_back(is_half(output.dtype) ? place.view : output);
  }
  absl::Status status = kernel({inputs, outputs, call.attrs, call.threads, call.memory});
  if (absl::IsResourceExhausted(status)) return status;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_half(call.out(i).dtype)) narrow(call, outputs[i].as<const float>(), call.out(i));
  }
  return status;
}

int64_t in_f32_scratch_bytes(std::span<const Spec> inputs, std::span<const Spec> outputs) {
  int64_t elements = 0;
  for (const auto specs : {inputs, outputs}) {
    for (const Spec& spec : specs) elements += is_half(spec.dtype) ? spec.numel() : 0;
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

Spec in_f32(const Spec& spec) {
  return {is_half(spec.dtype) ? DType::kF32 : spec.dtype, spec.shape};
}

}  // namespace remora::cpu
