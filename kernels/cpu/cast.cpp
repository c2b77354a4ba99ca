#include "kernels/cpu/rows.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kCastNs = 1.0;

}  // namespace

namespace kernels {

absl::Status astype(const KernelCall& call) {
  const TensorView& in = call.in(0);
  const TensorView& out = call.out();
  const auto nest = broadcast_nest<1>(out.sizes, {&in});
  const int64_t stride = nest.inner_strides()[0];
  const int64_t in_size = dtype_size(in.dtype);
  const int64_t out_size = dtype_size(out.dtype);
  for_blocks(call, nest.numel, kCastNs, [&](int64_t begin, int64_t end) {
    alignas(64) std::byte neighbours[static_cast<size_t>(kRowElements) * sizeof(double)];
    for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
      for (int64_t done = 0; done < count; done += kRowElements) {
        const int64_t length = std::min(kRowElements, count - done);
        const std::byte* source = in.data + (offsets[0] + done * stride) * in_size;
        if (stride != 1) {
          gather_row(source, stride, in_size, length, neighbours);
          source = neighbours;
        }
        convert_row(in.dtype, source, out.dtype, length, out.data + (position + done) * out_size);
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
