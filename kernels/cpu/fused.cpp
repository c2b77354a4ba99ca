#include "kernels/cpu/fused.h"

#include <memory>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

/// Estimated time of one element of an elementwise op on one thread.
constexpr double kElementwiseNs = 0.8;

using Kind = FusedValue::Kind;

/// An operand and how it is walked.
struct Source {
  const TensorView* view;
  LoopNest<1> nest;
  bool direct;   // its elements are neighbours, in the type that loops compute in
  bool in_rows;  // likewise within each of its long rows
};

/// Copies elements [begin, begin + count) of an operand, in the run's order, to neighbours.
template <typename T>
void gather_elements(const Source& source, int64_t begin, int64_t count, T* __restrict out) {
  const int64_t stride = source.nest.inner_strides()[0];
  for_rows(source.nest, begin, begin + count,
           [&](const std::array<int64_t, 1>& offsets, int64_t, int64_t length) {
             const T* x = source.view->as<const T>() + offsets[0];
             if (stride == 0) {
               for (int64_t i = 0; i < length; ++i) out[i] = *x;
             } else {
               for (int64_t i = 0; i < length; ++i) out[i] = x[i * stride];
             }
             out += length;
           });
}

void stage(const Source& source, int64_t begin, int64_t count, std::byte* row) {
  const TensorView& view = *source.view;
  if (!is_half(view.dtype)) {
    (void)with_bits(view.dtype, [&]<typename T>() {
      gather_elements(source, begin, count, reinterpret_cast<T*>(row));
      return absl::OkStatus();
    });
    return;
  }
  auto* out = reinterpret_cast<float*>(row);
  const int64_t stride = source.nest.inner_strides()[0];
  for_rows(source.nest, begin, begin + count,
           [&](const std::array<int64_t, 1>& offsets, int64_t, int64_t length) {
             widen_row(view.dtype, view.data + offsets[0] * dtype_size(view.dtype), stride, length,
                       out);
             out += length;
           });
}

/// The rows that a program stages values in. Not on the stack, which may be a small one of the
/// user's.
class Rows {
 public:
  /// For rows of `elements` at the most.
  Rows(const FusedProgram& program, int64_t elements) {
    size_t count = 0, widest = sizeof(float);
    for (const FusedValue& value : program.values) {
      if (value.row == FusedValue::kNoRow) continue;
      count = std::max<size_t>(count, value.row + size_t{1});
      widest = std::max(widest, static_cast<size_t>(dtype_size(value.dtype)));
    }
    const size_t used = static_cast<size_t>(std::min(kRowElements, elements)) * widest;
    row_bytes_ = (used + kLine - 1) / kLine * kLine;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(count * row_bytes_ + kLine);
    const auto address = reinterpret_cast<uintptr_t>(memory_.get());
    first_ = memory_.get() + (kLine - address % kLine) % kLine;
  }
  std::byte* row(uint16_t index) const { return first_ + index * row_bytes_; }

 private:
  static constexpr size_t kLine = 64;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* first_ = nullptr;
  size_t row_bytes_ = 0;
};

/// One block of the run on one thread.
class Block {
 public:
  /// `elements` is the block's size.
  Block(const FusedProgram& program, const KernelCall& call, std::span<const Source> sources,
        int64_t elements)
      : program_(program), call_(call), sources_(sources), rows_(program, elements) {
    for (const FusedValue& value : program.values) {
      if (value.kind != Kind::kOperand || !value.repeated) continue;
      if (!sources[value.index].direct)
        stage(sources[value.index], 0, std::min(kRowElements, elements), row(value));
    }
    staged_.assign(sources.size(), -1);
  }

  /// Elements [begin, begin + count).
  void run(int64_t begin, int64_t count) {
    std::array<const std::byte*, 3> operands{};
    for (const FusedOp& op : program_.ops) {
      for (size_t i = 0; i < op.operands; ++i) operands[i] = elements(op.inputs[i], begin, count);
      const FusedValue& result = program_.values[op.result];
      std::byte* out = nullptr;
      if (result.kind == Kind::kResult)
        out = call_.out(result.index).data + begin * dtype_size(result.dtype);
      if (is_half(result.dtype)) {
        run_half(op, result, operands, out, count);
        continue;
      }
      std::byte* target = out != nullptr ? out : row(result);
      if (op.loop != nullptr) {
        op.loop(operands, target, count);
      } else {
        convert_row(staged_type(op.inputs[0]), operands[0], result.dtype, count, target);
      }
    }
  }

 private:
  std::byte* row(const FusedValue& value) const { return rows_.row(value.row); }
  DType staged_type(uint16_t value) const {
    const DType dtype = program_.values[value].dtype;
    return is_half(dtype) ? DType::kF32 : dtype;
  }

  const std::byte* elements(uint16_t index, int64_t begin, int64_t count) {
    const FusedValue& value = program_.values[index];
    if (value.kind == Kind::kTemporary) return row(value);
    if (value.kind == Kind::kResult) {
      if (is_half(value.dtype)) return row(value);
      return call_.out(value.index).data + begin * dtype_size(value.dtype);
    }
    const Source& source = sources_[value.index];
    if (source.direct) return source.view->data + begin * dtype_size(value.dtype);
    if (source.in_rows && begin % source.nest.inner_size() + count <= source.nest.inner_size()) {
      const int64_t offset = offsets_at(source.nest, begin)[0];
      return source.view->data + offset * dtype_size(value.dtype);
    }
    if (!value.repeated && staged_[value.index] != begin) {
      stage(source, begin, count, row(value));
      staged_[value.index] = begin;
    }
    return row(value);
  }

  /// A result of 16-bit floats: rounded to them, and as f32 again in its row if it is read.
  void run_half(const FusedOp& op, const FusedValue& result,
                const std::array<const std::byte*, 3>& operands, std::byte* out, int64_t count) {
    auto* wide = reinterpret_cast<float*>(row(result));
    std::byte* rounded = out != nullptr ? out : halves_;
    if (op.loop != nullptr) {
      op.loop(operands, row(result), count);
      narrow_row(result.dtype, wide, count, rounded);
    } else {
      convert_row(staged_type(op.inputs[0]), operands[0], result.dtype, count, rounded);
    }
    if (result.read) widen_row(result.dtype, rounded, 1, count, wide);
  }

  const FusedProgram& program_;
  const KernelCall& call_;
  const std::span<const Source> sources_;
  absl::InlinedVector<int64_t, 4> staged_;  // by operand: the elements in its row begin here
  const Rows rows_;
  alignas(64) std::byte halves_[static_cast<size_t>(kRowElements) * sizeof(uint16_t)];
};

}  // namespace

void run_fused(const FusedProgram& program, const KernelCall& call) {
  absl::InlinedVector<Source, 3> sources;
  // Rows are staged at most kRowElements at a time; what goes from memory to memory needs no cut.
  bool staging = false;
  for (const TensorView& view : call.inputs) {
    Source source{&view, broadcast_nest<1>(call.out().sizes, {&view}), false, false};
    const LoopNest<1>& nest = source.nest;
    const bool neighbours = !is_half(view.dtype) && nest.inner_strides()[0] == 1;
    source.direct = (neighbours && nest.rank == 1) || (nest.numel == 1 && !is_half(view.dtype));
    source.in_rows = neighbours && nest.inner_size() >= kRowElements;
    staging |= !source.direct;
    sources.push_back(source);
  }
  for (const FusedOp& op : program.ops) {
    const FusedValue& result = program.values[op.result];
    staging |= op.loop == nullptr || result.kind != Kind::kResult || is_half(result.dtype);
  }
  const int64_t numel = call.out().numel();
  const int64_t step = staging ? kRowElements : kElementBlock;
  const double ns = kElementwiseNs * static_cast<double>(program.ops.size());
  for_blocks(call, numel, ns, [&](int64_t begin, int64_t end) {
    Block block(program, call, sources, end - begin);
    for (int64_t at = begin; at < end; at += step) block.run(at, std::min(step, end - at));
  });
}

ElementLoop fusible_loop(dispatch::OpCode code, DType dtype) {
  if (ElementLoop loop = unary_loop(code, dtype); loop != nullptr) return loop;
  if (ElementLoop loop = ternary_loop(code, dtype); loop != nullptr) return loop;
  if (!is_float(dtype) && divides(code)) return nullptr;  // a divisor of 0 is an error
  return binary_loop(code, dtype);
}

absl::Status run_elementwise(const KernelCall& call, ElementLoop loop) {
  if (loop == nullptr) {
    return absl::UnimplementedError("cpu: no elementwise kernel for this element type");
  }
  FusedProgram program;
  FusedOp op;
  op.loop = loop;
  for (const TensorView& view : call.inputs) {
    const auto index = static_cast<uint16_t>(op.operands++);
    op.inputs[index] = index;
    program.values.push_back({Kind::kOperand, view.dtype, view.numel() == 1, true, index, index});
  }
  op.result = op.operands;
  program.values.push_back({Kind::kResult, call.out().dtype, false, false, 0, op.result});
  program.ops.push_back(op);
  run_fused(program, call);
  return absl::OkStatus();
}

}  // namespace remora::cpu
