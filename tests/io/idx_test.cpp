#include "client/io/idx_format.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "dispatch/error.h"
#include "tests/io/format_cases.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

absl::Status read_file(const std::filesystem::path& path) { return read_idx(path).status(); }

std::string big_endian(uint32_t value) {
  std::string bytes = little_endian(value);
  return {bytes.rbegin(), bytes.rend()};
}

std::string file_of(char type, const std::vector<uint32_t>& sizes, const std::string& data) {
  std::string bytes = {'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) bytes += big_endian(size);
  return bytes + data;
}

std::string gzipped(const std::string& content) {
  const test::TemporaryFolder folder;
  gzFile file = gzopen((folder / "x").c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return test::bytes_of(folder / "x");
}

TEST(Idx, PlainAndCompressedFilesGiveTheSameTensor) {
  const test::TemporaryFolder folder;
  const std::string file = file_of(8, {2, 3}, "abcdef");
  for (const std::string& bytes : {file, gzipped(file)}) {
    const auto data = value_or_throw(read_idx(folder.write("x", bytes)));
    EXPECT_EQ(data.spec.str(), "u8[2, 3]");
    EXPECT_EQ(data.span()[5], std::byte{'f'});
  }
}

TEST(Idx, LargeCompressedFilesAreReadWhole) {
  const test::TemporaryFolder folder;
  const dispatch::HostData all = random_data(DType::kU8, {1000, 1000}, 3);
  const std::string content(reinterpret_cast<const char*>(all.bytes.get()), 1'000'000);
  expect_same(
      value_or_throw(read_idx(folder.write("x", gzipped(file_of(8, {1000, 1000}, content))))), all);
}

TEST(Idx, EveryElementTypeIsTurnedToTheByteOrderOfTheMachine) {
  struct Sample {
    char code;
    const char* spec;
    std::string big;
  };
  const test::TemporaryFolder folder;
  for (const Sample& sample :
       {Sample{8, "u8[1]", "\x81"}, Sample{9, "i8[1]", "\x81"}, Sample{11, "i16[1]", "\x12\x34"},
        Sample{12, "i32[1]", "\x12\x34\x56\x78"}, Sample{13, "f32[1]", "\x3f\x01\x02\x03"},
        Sample{14, "f64[1]", "\x3f\x01\x02\x03\x04\x05\x06\x07"}}) {
    for (const bool compressed : {false, true}) {
      const std::string file = file_of(sample.code, {1}, sample.big);
      const auto data =
          value_or_throw(read_idx(folder.write("x", compressed ? gzipped(file) : file)));
      EXPECT_EQ(data.spec.str(), sample.spec);
      const std::string bytes(reinterpret_cast<const char*>(data.bytes.get()), sample.big.size());
      EXPECT_EQ(bytes, std::string(sample.big.rbegin(), sample.big.rend()));
    }
  }
}

TEST(Idx, AScalarAndAnEmptyTensorAreTensors) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(value_or_throw(read_idx(folder.write("x", file_of(8, {}, "a")))).spec.str(), "u8[]");
  EXPECT_EQ(value_or_throw(read_idx(folder.write("x", file_of(8, {0, 28, 28}, "")))).spec.str(),
            "u8[0, 28, 28]");
}

std::vector<HostileFile> hostile_files() {
  return {
      {"empty", "", "magic: the file ends 4 bytes too early"},
      {"magic", file_of(8, {1}, "a").replace(1, 1, "x"), "magic: does not begin with two zero"},
      {"type", file_of(10, {1}, "a"), "element type: 10 is not one of 8 (u8)"},
      {"axes", std::string("\0\0\x08\x11", 4), "number of axes: 17 is more than 16"},
      {"no sizes", std::string("\0\0\x08\x02\0\0\0\1\0", 9), "size of axis 1: the file ends 3"},
      {"one byte missing", file_of(8, {3}, "ab"), "u8[3] takes 3 bytes, but 2 follow"},
      {"one byte more", file_of(8, {3}, "abcd"), "u8[3] takes 3 bytes, but 4 follow"},
      {"huge", file_of(8, {0xffffffff, 0xffff}, "a"), "takes 281470681677825 bytes, but 1"},
      {"product", file_of(14, {0xffffffff, 0xffffffff, 0xffffffff}, "a"), "sizes: shape ["},
      {"compressed, one byte missing", gzipped(file_of(8, {3}, "ab")),
       "elements of u8[3]: the file ends"},
      {"compressed, one byte more", gzipped(file_of(8, {3}, "abcd")),
       "more bytes follow the elements of u8[3]"},
      {"compressed, a word of a terabyte", gzipped(file_of(8, {1 << 20, 1 << 20}, "a")),
       "of a compressed file at most", absl::StatusCode::kResourceExhausted},
      {"cut gzip", gzipped(file_of(8, {200}, std::string(200, 'a'))).substr(0, 30), "broken",
       absl::StatusCode::kDataLoss},
  };
}

TEST(Idx, HostileFilesAreRefusedByField) { expect_refused(hostile_files(), read_file); }

TEST(Idx, DamagedFilesGiveAnErrorOrAnAnswer) {
  const std::string file = file_of(11, {3, 4}, std::string(24, 'a'));
  expect_survives_damage(file, read_file);
  expect_survives_damage(gzipped(file), read_file);
}

}  // namespace
}  // namespace remora::io
