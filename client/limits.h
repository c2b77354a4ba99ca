// The limits of the client library. Constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora {

/// Tensors with more elements than this are printed in short form.
inline constexpr int64_t kPrintThreshold = 1000;
/// Elements printed at each end of an axis in short form.
inline constexpr int64_t kPrintEdgeItems = 3;
/// Columns of a printed line before it wraps.
inline constexpr int64_t kPrintLineColumns = 80;

/// Bytes of a data file after decompression.
inline constexpr size_t kMaxDataFileBytes = size_t{1} << 30;
/// Values in one line of a CSV file, and characters of one value.
inline constexpr size_t kMaxCsvColumns = size_t{1} << 16;
inline constexpr size_t kMaxCsvFieldBytes = 64;

/// Batches that a loader reads ahead at most.
inline constexpr int64_t kMaxPrefetchedBatches = 1024;

/// Names that one error lists.
inline constexpr size_t kMaxListedNames = 20;

/// Parts of one `split` or `chunk`.
inline constexpr int64_t kMaxParts = 1024;

/// Indices or weights that one function computes on the host.
inline constexpr int64_t kMaxHostListElements = int64_t{1} << 26;

}  // namespace remora
