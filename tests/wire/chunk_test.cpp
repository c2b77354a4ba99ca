#include "proto/chunk.h"

#include <random>

#include "gtest/gtest.h"
#include "proto/limits.h"
#include "remora/v1/worker.pb.h"

namespace remora::wire {
namespace {

ByteSpan as_span(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

std::string joined(const ChunkView& chunk) {
  std::string out;
  for (const ByteSpan& piece : chunk.data) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return out;
}

ChunkHeader some_header() {
  return {ChunkTarget{std::string("\0\x01\xff session", 11), 0x123456789abcULL, 1 << 20, 3}, 77,
          0xfedcba9876543210ULL};
}

// Cuts `bytes` into slices of at most `piece` bytes, with an empty one between each.
std::vector<ByteSpan> sliced(const std::string& bytes, size_t piece) {
  std::vector<ByteSpan> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    slices.push_back(as_span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    slices.emplace_back();
  }
  return slices;
}

TEST(ChunkCodec, what_is_written_is_the_protobuf_message) {
  const ChunkHeader header = some_header();
  const std::string data(1000, 'd');
  v1::Chunk message;
  ASSERT_TRUE(message.ParseFromString(encode_chunk_header(header, data.size()) + data));
  EXPECT_EQ(message.target().session(), header.target->session);
  EXPECT_EQ(message.target().value(), header.target->value);
  EXPECT_EQ(message.target().byte_size(), header.target->byte_size);
  EXPECT_EQ(message.target().epoch(), header.target->epoch);
  EXPECT_EQ(message.offset(), header.offset);
  EXPECT_EQ(message.checksum(), header.checksum);
  EXPECT_EQ(message.data(), data);
}

TEST(ChunkCodec, protobuf_bytes_are_read_back_however_they_are_sliced) {
  v1::Chunk message;
  message.mutable_target()->set_session("abc");
  message.mutable_target()->set_value(9);
  message.mutable_target()->set_byte_size(300);
  message.set_offset(1234567);
  message.set_checksum(42);
  message.set_data(std::string(300, 'x') + "end");
  const std::string bytes = message.SerializeAsString();
  for (size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{64}, bytes.size()}) {
    const auto slices = sliced(bytes, piece);
    auto chunk = decode_chunk(slices);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_EQ(chunk->header.target, (ChunkTarget{"abc", 9, 300, 0}));
    EXPECT_EQ(chunk->header.offset, 1234567u);
    EXPECT_EQ(chunk->header.checksum, 42u);
    EXPECT_EQ(joined(*chunk), message.data());
    EXPECT_EQ(chunk->data_bytes, message.data().size());
  }
}

TEST(ChunkCodec, data_is_a_view_and_not_a_copy) {
  const std::string bytes = encode_chunk_header({}, 5) + "hello";
  const ByteSpan whole = as_span(bytes);
  auto chunk = decode_chunk(std::span(&whole, 1));
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  ASSERT_EQ(chunk->data.size(), 1u);
  EXPECT_EQ(chunk->data[0].data(), whole.data() + bytes.size() - 5);
}

TEST(ChunkCodec, an_empty_chunk_is_an_empty_message) {
  EXPECT_EQ(encode_chunk_header({}, 0), "");
  auto chunk = decode_chunk({});
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk->header, ChunkHeader());
  EXPECT_EQ(chunk->data_bytes, 0u);
}

TEST(ChunkCodec, unknown_fields_are_skipped) {
  // Field 9 as varint, field 10 as bytes, field 11 as fixed64, field 12 as fixed32, then the data.
  const std::string bytes = std::string("\x48\x05\x52\x02zz", 6) + std::string("\x59") +
                            std::string(8, 'f') + std::string("\x65") + std::string(4, 'f') +
                            encode_chunk_header({}, 2) + "ok";
  const auto slices = sliced(bytes, 3);
  auto chunk = decode_chunk(slices);
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_EQ(joined(*chunk), "ok");
}

TEST(ChunkCodec, too_much_data_is_refused_with_the_limit) {
  const std::string bytes =
      encode_chunk_header({}, kMaxChunkBytes + 1) + std::string(kMaxChunkBytes + 1, 'x');
  const ByteSpan whole = as_span(bytes);
  auto chunk = decode_chunk(std::span(&whole, 1));
  ASSERT_FALSE(chunk.ok());
  EXPECT_EQ(chunk.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(chunk.status().message().find(std::to_string(kMaxChunkBytes)), std::string_view::npos);
}

TEST(ChunkCodec, every_truncation_is_refused_or_a_shorter_message) {
  const std::string bytes = encode_chunk_header(some_header(), 20) + std::string(20, 'x');
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    const auto slices = sliced(cut, 5);
    auto chunk = decode_chunk(slices);
    v1::Chunk message;
    EXPECT_EQ(chunk.ok(), message.ParseFromString(cut)) << "at " << length;
  }
}

TEST(ChunkCodec, mutated_bytes_never_read_outside_the_slices) {
  const uint32_t seed = 20240611;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string bytes = encode_chunk_header(some_header(), 40) + std::string(40, 'x');
  for (int round = 0; round < 20'000; ++round) {
    std::string mutated = bytes;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    mutated.resize(random() % (mutated.size() + 1));
    const auto slices = sliced(mutated, 1 + random() % 16);
    auto chunk = decode_chunk(slices);
    if (!chunk.ok()) continue;
    size_t data_bytes = 0;
    for (const ByteSpan& piece : chunk->data) data_bytes += piece.size();
    ASSERT_EQ(data_bytes, chunk->data_bytes);
    ASSERT_LE(data_bytes, mutated.size());
  }
}

}  // namespace
}  // namespace remora::wire
