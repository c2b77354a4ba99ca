// The Chunk message of the bulk plane as bytes, without a protobuf copy of its data. What is
// written is valid protobuf of worker.proto's Chunk: a header made here, then the data as slices of
// the caller. What is read gives the data as views into the slices that arrived. Pure functions;
// nothing from the peer is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace remora::wire {

using ByteSpan = std::span<const std::byte>;

/// Whose bytes these are: BulkTarget of worker.proto.
struct ChunkTarget {
  std::string session;
  uint64_t value = 0;
  uint64_t byte_size = 0;
  uint64_t epoch = 0;
  bool operator==(const ChunkTarget&) const = default;
};

/// All of a Chunk but its data.
struct ChunkHeader {
  std::optional<ChunkTarget> target;
  uint64_t offset = 0;
  uint64_t checksum = 0;  // chunk_checksum of the data
  bool operator==(const ChunkHeader&) const = default;
};

/// A chunk as it arrived: `data` points into the slices given to `decode_chunk`.
struct ChunkView {
  ChunkHeader header;
  std::vector<ByteSpan> data;
  size_t data_bytes = 0;
};

/// The bytes that precede the data of a chunk; the message is these and then exactly `data_bytes`
/// bytes of data.
std::string encode_chunk_header(const ChunkHeader& header, size_t data_bytes);

/// Reads a chunk that arrived as `slices`. Unknown fields are skipped. INVALID_ARGUMENT for what is
/// not a Chunk or carries more than kMaxChunkBytes of data.
absl::StatusOr<ChunkView> decode_chunk(std::span<const ByteSpan> slices);

/// XXH3_64bits of the data.
uint64_t chunk_checksum(ByteSpan data);

}  // namespace remora::wire
