#include "kernels/cpu/strided.h"
#include "kernels/cpu/views.h"

namespace remora::cpu {
namespace {

/// A view op as a copy: what a reshape is whose operand's strides allow no view.
absl::Status copy_view(const KernelCall& call, dispatch::OpCode code) {
  const TensorView& in = call.in(0);
  View view;
  absl::Status failure;
  if (make_view(code, call.attrs, in, call.out().sizes, view, failure)) {
    const auto offset = view.offset * dtype_size(in.dtype);
    copy_strided(call, {in.data + offset, in.dtype, call.out().sizes, view.strides}, call.out());
    return failure;
  }
  // Row-major order is kept, so the result has the operand's shape in memory.
  const Dims strides = contiguous_strides(Shape(in.sizes));
  copy_strided(call, in, {call.out().data, in.dtype, in.sizes, strides});
  return failure;
}

}  // namespace

namespace kernels {

absl::Status reshape(const KernelCall& call) { return copy_view(call, dispatch::OpCode::reshape); }
absl::Status permute(const KernelCall& call) { return copy_view(call, dispatch::OpCode::permute); }
absl::Status broadcast_to(const KernelCall& call) {
  return copy_view(call, dispatch::OpCode::broadcast_to);
}
absl::Status slice(const KernelCall& call) { return copy_view(call, dispatch::OpCode::slice); }

absl::Status slice_assign(const KernelCall& call) {
  copy_strided(call, call.in(0), call.out());
  absl::Status failure;
  const auto& attrs = call.attributes<dispatch::SliceAttrs>();
  const View box = slice_view("slice_assign", attrs, call.out().sizes, call.out().strides, failure);
  const TensorView& source = call.in(1);
  const auto offset = box.offset * dtype_size(source.dtype);
  copy_strided(call, source, {call.out().data + offset, source.dtype, source.sizes, box.strides});
  return failure;
}

absl::Status concat(const KernelCall& call) {
  const auto axis = static_cast<size_t>(call.attributes<dispatch::AxisAttrs>().axis);
  const TensorView& out = call.out();
  const int64_t axis_bytes = out.strides[axis] * dtype_size(out.dtype);
  std::byte* target = out.data;
  for (const TensorView& in : call.inputs) {
    copy_strided(call, in, {target, in.dtype, in.sizes, out.strides});
    target += in.sizes[axis] * axis_bytes;
  }
  return absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
