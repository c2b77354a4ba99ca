// Reductions whose order of combination is a function of the logical shape alone: not of strides,
// not of the thread count.
//
// The reduced elements of one output, in row-major order, are cut into chunks of fixed length.
// Where the innermost axis is reduced, element i of a chunk goes to accumulator i % 8 (of extremes,
// in long chunks, i % 32) and these are combined as a tree; where it is kept, a chunk has one
// accumulator an output and neighbouring outputs run side by side. Chunks are combined in order.
// f32 sums accumulate in f64.
#pragma once

#include <cstdint>

namespace remora::cpu {

/// Upper bound of the scratch bytes of a reduction of `input_elements` to `output_elements`.
int64_t reduce_scratch_bytes(int64_t input_elements, int64_t output_elements);

}  // namespace remora::cpu
