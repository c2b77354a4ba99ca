#include "proto/chunk.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dispatch/attrs_codec.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "xxhash.h"

namespace remora::wire {
namespace {

// Field numbers of worker.proto; Chunk's first, then BulkTarget's.
constexpr uint32_t kTargetField = 1;
constexpr uint32_t kOffsetField = 2;
constexpr uint32_t kChecksumField = 3;
constexpr uint32_t kDataField = 15;
constexpr uint32_t kSessionField = 1;
constexpr uint32_t kValueField = 2;
constexpr uint32_t kByteSizeField = 3;
constexpr uint32_t kEpochField = 4;

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr size_t kMaxVarintBytes = 10;
// A target is a session name and three numbers; more is not one.
constexpr size_t kMaxTargetBytes = 1024;

constexpr uint32_t field_tag(uint32_t field, WireType type) {
  return (field << 3) | static_cast<uint32_t>(type);
}

void append_tag(std::string& out, uint32_t field, WireType type) {
  dispatch::append_varint(out, field_tag(field, type));
}

// proto3 leaves out zeros.
void append_number(std::string& out, uint32_t field, uint64_t value) {
  if (value == 0) return;
  append_tag(out, field, WireType::kVarint);
  dispatch::append_varint(out, value);
}

void append_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  append_tag(out, field, WireType::kBytes);
  dispatch::append_varint(out, bytes.size());
  out.append(bytes);
}

std::string encode_target(const ChunkTarget& target) {
  std::string out;
  if (!target.session.empty()) append_bytes(out, kSessionField, target.session);
  append_number(out, kValueField, target.value);
  append_number(out, kByteSizeField, target.byte_size);
  append_number(out, kEpochField, target.epoch);
  return out;
}

absl::Status malformed(std::string_view what) {
  return absl::InvalidArgumentError(str_cat("chunk: ", what));
}

// Reads across the borders of slices.
class Cursor {
 public:
  explicit Cursor(std::span<const ByteSpan> slices) : slices_(slices) {
    for (const ByteSpan& slice : slices) left_ += slice.size();
  }

  size_t left() const { return left_; }

  bool read_byte(uint8_t& value) {
    skip_empty();
    if (left_ == 0) return false;
    value = static_cast<uint8_t>(slices_.front()[at_]);
    advance(1);
    return true;
  }

  // Protobuf allows padded varints, so minimality is not asked for here.
  bool read_varint(uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < kMaxVarintBytes; ++i) {
      uint8_t byte = 0;
      if (!read_byte(byte)) return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  bool read_fixed64(uint64_t& value) {
    value = 0;
    for (int i = 0; i < 8; ++i) {
      uint8_t byte = 0;
      if (!read_byte(byte)) return false;
      value |= static_cast<uint64_t>(byte) << (8 * i);
    }
    return true;
  }

  // The next `count` bytes as views. Requires count <= left().
  template <typename Visit>
  void take(size_t count, Visit&& visit) {
    while (count > 0) {
      skip_empty();
      const size_t piece = std::min(count, slices_.front().size() - at_);
      visit(slices_.front().subspan(at_, piece));
      advance(piece);
      count -= piece;
    }
  }

 private:
  void skip_empty() {
    while (!slices_.empty() && at_ == slices_.front().size()) {
      slices_ = slices_.subspan(1);
      at_ = 0;
    }
  }
  void advance(size_t count) {
    at_ += count;
    left_ -= count;
  }

  std::span<const ByteSpan> slices_;
  size_t at_ = 0;
  size_t left_ = 0;
};

absl::Status read_length(Cursor& in, size_t limit, std::string_view what, size_t& length) {
  uint64_t value = 0;
  if (!in.read_varint(value) || value > in.left()) {
    return malformed(str_cat(what, " is cut short"));
  }
  if (value > limit) {
    return malformed(str_cat(what, " has ", value, " bytes; at most ", limit, " are allowed"));
  }
  length = static_cast<size_t>(value);
  return absl::OkStatus();
}

absl::Status skip_field(Cursor& in, uint64_t tag) {
  uint64_t ignored = 0;
  bool complete = false;
  switch (static_cast<WireType>(tag & 7)) {
    case WireType::kVarint:
      complete = in.read_varint(ignored);
      break;
    case WireType::kFixed64:
      complete = in.read_fixed64(ignored);
      break;
    case WireType::kFixed32:
      complete = in.left() >= 4;
      if (complete) in.take(4, [](ByteSpan) {});
      break;
    case WireType::kBytes: {
      size_t length = 0;
      REMORA_RETURN_IF_ERROR(read_length(in, kMaxFrameBytes, "an unknown field", length));
      in.take(length, [](ByteSpan) {});
      complete = true;
      break;
    }
  }
  if (complete) return absl::OkStatus();
  return malformed(str_cat("field ", tag >> 3, " of wire type ", tag & 7, " cannot be read"));
}

absl::Status read_target(std::string_view bytes, ChunkTarget& target) {
  const ByteSpan whole = std::as_bytes(std::span(bytes.data(), bytes.size()));
  Cursor in(std::span(&whole, 1));
  while (in.left() > 0) {
    uint64_t tag = 0;
    if (!in.read_varint(tag)) return malformed("a field tag of the target is cut short");
    uint64_t* number = nullptr;
    if (tag == field_tag(kValueField, WireType::kVarint)) number = &target.value;
    if (tag == field_tag(kByteSizeField, WireType::kVarint)) number = &target.byte_size;
    if (tag == field_tag(kEpochField, WireType::kVarint)) number = &target.epoch;
    if (number != nullptr) {
      if (!in.read_varint(*number)) return malformed("a number of the target is cut short");
    } else if (tag == field_tag(kSessionField, WireType::kBytes)) {
      size_t length = 0;
      REMORA_RETURN_IF_ERROR(read_length(in, kMaxTargetBytes, "the target's session", length));
      target.session.clear();
      in.take(length, [&](ByteSpan piece) {
        target.session.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      });
    } else {
      REMORA_RETURN_IF_ERROR(skip_field(in, tag));
    }
  }
  return absl::OkStatus();
}

absl::Status read_field(Cursor& in, uint64_t tag, ChunkView& chunk) {
  if (tag == field_tag(kTargetField, WireType::kBytes)) {
    size_t length = 0;
    REMORA_RETURN_IF_ERROR(read_length(in, kMaxTargetBytes, "the target", length));
    std::string bytes;
    in.take(length, [&](ByteSpan piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    if (!chunk.header.target) chunk.header.target.emplace();
    return read_target(bytes, *chunk.header.target);
  }
  if (tag == field_tag(kOffsetField, WireType::kVarint)) {
    return in.read_varint(chunk.header.offset) ? absl::OkStatus()
                                               : malformed("the offset is cut short");
  }
  if (tag == field_tag(kChecksumField, WireType::kFixed64)) {
    return in.read_fixed64(chunk.header.checksum) ? absl::OkStatus()
                                                  : malformed("the checksum is cut short");
  }
  if (tag == field_tag(kDataField, WireType::kBytes)) {
    size_t length = 0;
    REMORA_RETURN_IF_ERROR(read_length(in, kMaxChunkBytes, "the data", length));
    // As in protobuf, the last one counts.
    chunk.data.clear();
    chunk.data_bytes = length;
    in.take(length, [&](ByteSpan piece) { chunk.data.push_back(piece); });
    return absl::OkStatus();
  }
  return skip_field(in, tag);
}

}  // namespace

std::string encode_chunk_header(const ChunkHeader& header, size_t data_bytes) {
  std::string out;
  if (header.target) append_bytes(out, kTargetField, encode_target(*header.target));
  append_number(out, kOffsetField, header.offset);
  if (header.checksum != 0) {
    append_tag(out, kChecksumField, WireType::kFixed64);
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(header.checksum >> (8 * i)));
  }
  if (data_bytes > 0) {
    append_tag(out, kDataField, WireType::kBytes);
    dispatch::append_varint(out, data_bytes);
  }
  return out;
}

absl::StatusOr<ChunkView> decode_chunk(std::span<const ByteSpan> slices) {
  Cursor in(slices);
  ChunkView chunk;
  while (in.left() > 0) {
    uint64_t tag = 0;
    if (!in.read_varint(tag) || (tag >> 3) == 0) return malformed("a field tag cannot be read");
    REMORA_RETURN_IF_ERROR(read_field(in, tag, chunk));
  }
  return chunk;
}

uint64_t chunk_checksum(ByteSpan data) { return XXH3_64bits(data.data(), data.size()); }

}  // namespace remora::wire
