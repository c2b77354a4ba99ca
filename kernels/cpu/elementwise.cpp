#include "kernels/cpu/elementwise.h"

#include "kernels/cpu/rows.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

/// Estimated time of one element of an elementwise op on one thread.
constexpr double kElementwiseNs = 0.8;

/// One operand as the loop wants it: neighbours, 16-bit floats as f32.
class StagedOperand {
 public:
  void bind(const TensorView& view, int64_t stride) {
    view_ = &view;
    stride_ = stride;
    direct_ = stride == 1 && !is_half(view.dtype);
  }
  bool direct() const { return direct_; }

  /// `count` elements from element `offset` on; at most kRowElements unless `direct`.
  const std::byte* row(int64_t offset, int64_t count) {
    const int64_t size = dtype_size(view_->dtype);
    const std::byte* source = view_->data + offset * size;
    if (direct_) return source;
    // A repeated element is staged once.
    if (stride_ == 0 && source == repeated_ && count <= repeats_) return buffer_;
    if (is_half(view_->dtype)) {
      widen_row(view_->dtype, source, stride_, count, reinterpret_cast<float*>(buffer_));
    } else {
      gather_row(source, stride_, size, count, buffer_);
    }
    repeated_ = source;
    repeats_ = count;
    return buffer_;
  }

 private:
  const TensorView* view_ = nullptr;
  int64_t stride_ = 0;
  bool direct_ = false;
  const std::byte* repeated_ = nullptr;
  int64_t repeats_ = 0;
  alignas(64) std::byte buffer_[static_cast<size_t>(kRowElements) * sizeof(double)];
};

template <size_t N>
absl::Status run_with(const KernelCall& call, ElementLoop loop,
                      const std::array<const TensorView*, N>& inputs) {
  const TensorView& out = call.out();
  const auto nest = broadcast_nest<N>(out.sizes, inputs);
  const int64_t out_size = dtype_size(out.dtype);
  const bool round = is_half(out.dtype);
  for_blocks(call, nest.numel, kElementwiseNs, [&](int64_t begin, int64_t end) {
    std::array<StagedOperand, N> staged;
    bool direct = !round;
    for (size_t i = 0; i < N; ++i) {
      staged[i].bind(*inputs[i], nest.inner_strides()[i]);
      direct &= staged[i].direct();
    }
    alignas(64) float unrounded[static_cast<size_t>(kRowElements)];
    std::array<const std::byte*, 3> operands{};
    for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
      const int64_t step = direct ? count : std::min(count, kRowElements);
      for (int64_t done = 0; done < count; done += step) {
        const int64_t length = std::min(step, count - done);
        for (size_t i = 0; i < N; ++i) {
          operands[i] = staged[i].row(offsets[i] + done * nest.inner_strides()[i], length);
        }
        std::byte* target = out.data + (position + done) * out_size;
        loop(operands, round ? reinterpret_cast<std::byte*>(unrounded) : target, length);
        if (round) narrow_row(out.dtype, unrounded, length, target);
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status run_elementwise(const KernelCall& call, ElementLoop loop) {
  if (loop == nullptr) {
    return absl::UnimplementedError("cpu: no elementwise kernel for this element type");
  }
  switch (call.inputs.size()) {
    case 1:
      return run_with<1>(call, loop, {&call.in(0)});
    case 2:
      return run_with<2>(call, loop, {&call.in(0), &call.in(1)});
    default:
      return run_with<3>(call, loop, {&call.in(0), &call.in(1), &call.in(2)});
  }
}

}  // namespace remora::cpu
