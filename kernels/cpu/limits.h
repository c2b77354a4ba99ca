// Sizes and limits of the CPU backend. Block sizes decide how work is cut and therefore, for
// reductions and contractions, the bits of the result: they are functions of shapes alone, never of
// the thread count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora::cpu {

/// Threads of one device's pool, the caller included.
inline constexpr int kMaxThreads = 256;
/// Share of the machine's (or the cgroup's) memory that a device may use when no limit is given, in
/// percent.
inline constexpr int64_t kDefaultMemoryPercent = 80;
/// Memory blocks of at least this size are mapped and ask for huge pages.
inline constexpr int64_t kHugePageBytes = int64_t{2} << 20;
inline constexpr int64_t kAlignmentBytes = 64;
/// Host data below this is copied on upload, so that a small tensor never keeps a large message
/// alive.
inline constexpr int64_t kAdoptBytes = 4096;
/// Reads below this are copied to memory that does not count against the device's limit, so that a
/// full device can still be read.
inline constexpr int64_t kSmallReadBytes = int64_t{64} << 10;

/// Work below this many estimated nanoseconds runs on the calling thread: waking another costs
/// more.
inline constexpr int64_t kParallelCostNs = 25'000;
/// Elements of one block of an elementwise op, a copy or a draw.
inline constexpr int64_t kElementBlock = int64_t{1} << 15;

/// Elements of one row that is staged for a loop: strided ones as neighbours, 16-bit floats as f32.
/// Three such rows of 8 bytes an element stay in the first-level cache.
inline constexpr int64_t kRowElements = 1024;
/// Staged rows of one fused run of elementwise ops, and the ops it holds at most.
inline constexpr int kFusedRows = 16;
inline constexpr size_t kFusedOps = 64;

/// Reduced elements of one chunk where the innermost axis is reduced, and where it is kept. Partial
/// results of chunks are combined in order.
inline constexpr int64_t kReduceChunk = int64_t{1} << 14;
inline constexpr int64_t kReduceRows = int64_t{1} << 10;
/// Outputs reduced side by side where the innermost axis is kept.
inline constexpr int64_t kReduceTile = 128;

/// Elements of one chunk of a running sum, product or extreme along its axis: chunks start from the
/// combined totals of those before them.
inline constexpr int64_t kScanChunk = int64_t{1} << 14;
/// Axes up to this length are sorted by insertion, longer ones digit by digit.
inline constexpr int64_t kInsertionSort = 48;

/// Rows and columns of a tile of a matrix product.
inline constexpr int64_t kMatmulTileRows = 256;
inline constexpr int64_t kMatmulTileColumns = 512;
/// Products of fewer multiplications than this always see row-major operands: the BLAS has
/// small-matrix kernels whose bits depend on the transposition flags.
inline constexpr int64_t kSmallMatmul = int64_t{1} << 21;

/// Queries and keys of a block of attention: its scores stay in the second-level cache.
inline constexpr int64_t kAttentionQueries = 128;
inline constexpr int64_t kAttentionKeys = 256;

/// Floats of the unfolded columns of one convolution tile, and the bounds of its width in output
/// pixels.
inline constexpr int64_t kConvTileFloats = int64_t{1} << 16;
inline constexpr int64_t kMinConvTilePixels = 128;
inline constexpr int64_t kMaxConvTilePixels = 1024;
/// Rows of unfolded columns that one block of the weight gradient covers.
inline constexpr int64_t kWeightGradRows = 128;
/// The weight gradient is cut along the pixels into at most this many parts of at least so many
/// pixels.
inline constexpr int64_t kMaxWeightGradParts = 8;
inline constexpr int64_t kMinWeightGradPartPixels = int64_t{1} << 14;

}  // namespace remora::cpu
