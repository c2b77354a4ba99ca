// Walking strided tensors: axes that lie next to each other in every operand are merged, then whole
// rows of the innermost axis are handed out. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/cpu/element.h"
#include "kernels/cpu/kernel.h"
#include "kernels/cpu/limits.h"

namespace remora::cpu {

/// Sizes and the strides of N operands over them, outermost first, after merging. At least one
/// axis.
template <size_t N>
struct LoopNest {
  int rank = 0;
  int64_t numel = 1;
  std::array<int64_t, dispatch::kMaxRank + 1> sizes;
  std::array<std::array<int64_t, N>, dispatch::kMaxRank + 1> strides;  // by axis, then operand

  int64_t inner_size() const { return sizes[static_cast<size_t>(rank - 1)]; }
  const std::array<int64_t, N>& inner_strides() const {
    return strides[static_cast<size_t>(rank - 1)];
  }

  /// Adds an axis inside all others, merged into the one before where all strides allow it.
  void push(int64_t size, const std::array<int64_t, N>& axis_strides) {
    numel *= size;
    if (size == 1 && rank > 0) return;
    if (rank > 0) {
      const auto last = static_cast<size_t>(rank - 1);
      if (sizes[last] == 1) {
        sizes[last] = size;
        strides[last] = axis_strides;
        return;
      }
      bool mergeable = true;
      for (size_t i = 0; i < N; ++i) mergeable &= strides[last][i] == axis_strides[i] * size;
      if (mergeable) {
        sizes[last] *= size;
        strides[last] = axis_strides;
        return;
      }
    }
    sizes[static_cast<size_t>(rank)] = size;
    strides[static_cast<size_t>(rank)] = axis_strides;
    ++rank;
  }
};

/// The nest of operands broadcast (NumPy's rule) to `sizes`.
template <size_t N>
LoopNest<N> broadcast_nest(std::span<const int64_t> sizes,
                           const std::array<const TensorView*, N>& operands) {
  LoopNest<N> nest;
  if (sizes.empty()) nest.push(1, {});
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    std::array<int64_t, N> strides;
    for (size_t i = 0; i < N; ++i) {
      const TensorView& view = *operands[i];
      const size_t missing = sizes.size() - view.sizes.size();
      strides[i] =
          axis < missing || view.sizes[axis - missing] == 1 ? 0 : view.strides[axis - missing];
    }
    nest.push(sizes[axis], strides);
  }
  return nest;
}

/// Element offsets of each operand at a linear position.
template <size_t N>
std::array<int64_t, N> offsets_at(const LoopNest<N>& nest, int64_t position) {
  std::array<int64_t, N> offsets{};
  for (auto axis = static_cast<size_t>(nest.rank); axis-- > 0;) {
    const int64_t index = position % nest.sizes[axis];
    position /= nest.sizes[axis];
    for (size_t i = 0; i < N; ++i) offsets[i] += index * nest.strides[axis][i];
  }
  return offsets;
}

/// Calls `row(offsets, position, count)` for each run along the innermost axis within the linear
/// positions [begin, end): element offsets of each operand's first element, its linear position,
/// how many.
template <size_t N, typename Row>
void for_rows(const LoopNest<N>& nest, int64_t begin, int64_t end, Row&& row) {
  if (begin >= end) return;
  std::array<int64_t, dispatch::kMaxRank + 1> index;
  std::array<int64_t, N> offsets{};
  int64_t rest = begin;
  for (auto axis = static_cast<size_t>(nest.rank); axis-- > 0;) {
    index[axis] = rest % nest.sizes[axis];
    rest /= nest.sizes[axis];
    for (size_t i = 0; i < N; ++i) offsets[i] += index[axis] * nest.strides[axis][i];
  }
  const auto inner = static_cast<size_t>(nest.rank - 1);
  for (int64_t position = begin;;) {
    const int64_t count = std::min(nest.sizes[inner] - index[inner], end - position);
    row(offsets, position, count);
    position += count;
    if (position >= end) return;
    // The row ran to the end of the innermost axis: back to its start, then one step outside.
    for (size_t i = 0; i < N; ++i) offsets[i] -= index[inner] * nest.strides[inner][i];
    index[inner] = 0;
    for (size_t axis = inner; axis-- > 0;) {
      for (size_t i = 0; i < N; ++i) offsets[i] += nest.strides[axis][i];
      if (++index[axis] < nest.sizes[axis]) break;
      for (size_t i = 0; i < N; ++i) offsets[i] -= nest.sizes[axis] * nest.strides[axis][i];
      index[axis] = 0;
    }
  }
}

/// Runs `run(begin, end)` over [0, count) in blocks of kElementBlock.
template <typename Run>
void for_blocks(const KernelCall& call, int64_t count, double ns_per_element, Run&& run) {
  if (count <= kElementBlock) {
    if (count > 0) run(int64_t{0}, count);
    return;
  }
  const int64_t blocks = (count + kElementBlock - 1) / kElementBlock;
  call.parallel_for(blocks, static_cast<double>(count) * ns_per_element, [&](int64_t block, int) {
    run(block * kElementBlock, std::min(count, (block + 1) * kElementBlock));
  });
}

/// Copies `source` to `target`, of the same sizes and element type; both may be strided.
void copy_strided(const KernelCall& call, const TensorView& source, const TensorView& target);
/// The same on the calling thread, without a call.
void copy_strided(const TensorView& source, const TensorView& target);

/// An operand as row-major memory: itself if it is, else a copy that lives as long as this object.
class Packed {
 public:
  static absl::StatusOr<Packed> of(const KernelCall& call, const TensorView& view);
  const std::byte* data() const { return data_; }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  const std::byte* data_ = nullptr;
  Scratch copy_;
};

}  // namespace remora::cpu
