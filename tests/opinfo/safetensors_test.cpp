#include "tests/opinfo/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "dispatch/str_cat.h"

namespace remora::opinfo {
namespace {

std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes += header;
  for (size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string refusal(std::string bytes) {
  return std::string(Safetensors::parse(std::move(bytes)).status().message());
}

TEST(Safetensors, GivesEachTensorItsSpecAndBytes) {
  const auto file = Safetensors::parse(file_of(R"({"__metadata__": {"a": "b"},
                  "x": {"dtype": "I16", "shape": [2, 1], "data_offsets": [1, 5]},
                  "e": {"dtype": "F32", "shape": [3, 0], "data_offsets": [5, 5]}})",
                                               5));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 2U);
  EXPECT_EQ(file->find("x")->str(), "i16[2, 1]");
  const auto x = file->load("x");
  ASSERT_TRUE(x.ok());
  EXPECT_EQ(static_cast<int>(x->bytes.get()[0]), 1);
  EXPECT_EQ(static_cast<int>(x->bytes.get()[3]), 4);
  EXPECT_EQ(file->load("e")->spec.numel(), 0);
  EXPECT_EQ(file->find("y"), nullptr);
  EXPECT_EQ(file->load("y").status().code(), absl::StatusCode::kNotFound);
}

TEST(Safetensors, RefusesALengthBeyondTheFile) {
  EXPECT_NE(refusal("abc").find("shorter than 8"), std::string::npos);
  std::string bytes = file_of("{}", 0);
  for (const uint64_t length : {uint64_t{3}, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 40}) {
    std::memcpy(bytes.data(), &length, sizeof(length));
    EXPECT_NE(refusal(bytes).find("claims"), std::string::npos) << length;
  }
}

TEST(Safetensors, RefusesAHeaderThatIsNoObject) {
  for (const char* header : {"", "[]", "{", "1", "\"x\"", "{\"x\": 1}", "{\"x\": []}"}) {
    EXPECT_FALSE(Safetensors::parse(file_of(header, 8)).ok()) << header;
  }
  EXPECT_FALSE(Safetensors::parse(file_of(std::string(100'000, '['), 0)).ok());
}

TEST(Safetensors, RefusesEntriesThatAreNotWhatTheyClaim) {
  const auto entry = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return file_of(str_cat(R"({"x": {"dtype": )", dtype, R"(, "shape": )", shape,
                           R"(, "data_offsets": )", offsets, "}}"),
                   8);
  };
  ASSERT_TRUE(Safetensors::parse(entry("\"F32\"", "[2]", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F33\"", "[2]", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("1", "[2]", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[-2]", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[2.5]", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[3]", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "{}", "[0, 8]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[2]", "[4, 12]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[2]", "[8, 0]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[2]", "[-8, 0]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[2]", "[0]")).ok());
  EXPECT_FALSE(Safetensors::parse(entry("\"F32\"", "[2]", "0")).ok());
}

TEST(Safetensors, RefusesShapesWhoseSizeOverflows) {
  for (const char* shape :
       {"[4294967296, 4294967296]", "[9223372036854775807, 2]", "[0, 9223372036854775807, 9]",
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1]"}) {
    const std::string header = str_cat(R"({"x": {"dtype": "F32", "shape": )",
                                       std::string_view(shape), R"(, "data_offsets": [0, 0]}})");
    EXPECT_FALSE(Safetensors::parse(file_of(header, 8)).ok()) << shape;
  }
}

}  // namespace
}  // namespace remora::opinfo
