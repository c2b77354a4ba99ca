#include "client/io/safetensors_file.h"

#include <gtest/gtest.h>

#include "client/io/limits.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/io/format_cases.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

absl::Status read_everything(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::open(path));
  for (const SafetensorsHeader::Tensor& tensor : file.tensors()) {
    REMORA_RETURN_IF_ERROR(file.read(tensor).status());
  }
  return absl::OkStatus();
}

template <typename T>
dispatch::HostData elements(DType dtype, const Shape& shape, const std::vector<T>& values) {
  return dispatch::HostData::copy_of({dtype, shape}, std::as_bytes(std::span(values)));
}

std::string file_of(std::string_view header, size_t data_bytes) {
  return str_cat(little_endian(uint64_t{header.size()}), header, std::string(data_bytes, 'x'));
}

// As safetensors 0.8.0 for Python writes the same tensors.
TEST(Safetensors, WritesByteForByteWhatTheReferenceWrites) {
  const test::TemporaryFolder folder;
  const std::vector<NamedData> tensors = {{"w", elements<float>(DType::kF32, {3}, {0, 1, 2})},
                                          {"a", elements<int64_t>(DType::kI64, {1, 2}, {1, 2})},
                                          {"s", elements<uint8_t>(DType::kBool, {}, {1})},
                                          {"e", elements<float>(DType::kF32, {2, 0}, {})}};
  throw_if_error(write_safetensors(folder / "x", tensors, {{"format", "pt"}}));
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]},)"
      R"("e":{"dtype":"F32","shape":[2,0],"data_offsets":[16,16]},)"
      R"("w":{"dtype":"F32","shape":[3],"data_offsets":[16,28]},)"
      R"("s":{"dtype":"BOOL","shape":[],"data_offsets":[28,29]}} )";
  std::string data(29, '\0');
  data[0] = 1;
  data[8] = 2;
  data.replace(20, 8, std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  data[28] = 1;
  EXPECT_EQ(test::bytes_of(folder / "x"),
            str_cat(std::string("\0\x01\0\0\0\0\0\0", 8), header, data));
}

// The order of the same writer: by alignment, then by the number the format gives the type.
TEST(Safetensors, LaysWideElementsFirst) {
  const test::TemporaryFolder folder;
  std::vector<NamedData> tensors;
  for (const DType dtype : all_dtypes()) {
    tensors.push_back({std::string(dtype_name(dtype)), random_data(dtype, {1}, 1)});
  }
  throw_if_error(write_safetensors(folder / "x", tensors, {}));
  const SafetensorsFile file = value_or_throw(SafetensorsFile::open(folder / "x"));
  std::string order;
  for (const auto& tensor : file.tensors()) order += tensor.name + " ";
  EXPECT_EQ(order, "u64 i64 f64 f32 u32 i32 bf16 f16 u16 i16 i8 u8 bool ");
}

TEST(Safetensors, EveryElementTypeAndShapeComesBack) {
  const test::TemporaryFolder folder;
  std::vector<NamedData> tensors;
  for (const DType dtype : all_dtypes()) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 0, 3}, Shape{3, 1, 2, 4}}) {
      tensors.push_back(
          {str_cat(dtype_name(dtype), shape.str()), random_data(dtype, shape, tensors.size())});
    }
  }
  const Metadata metadata = {{"", ""}, {"a \"b\"\n", "\xc3\xa9\x01\\"}};
  throw_if_error(write_safetensors(folder / "x", tensors, metadata));
  const SafetensorsFile file = value_or_throw(SafetensorsFile::open(folder / "x"));
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const NamedData& tensor : tensors) {
    SCOPED_TRACE(tensor.name);
    expect_same(value_or_throw(file.read(tensor.name)), tensor.data);
  }
  EXPECT_EQ(file.find("y"), nullptr);
  EXPECT_EQ(file.read("y").status().code(), absl::StatusCode::kNotFound);
}

TEST(Safetensors, AnyByteButZeroIsTrue) {
  const test::TemporaryFolder folder;
  const auto path =
      folder.write("x", file_of(R"({"b":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2));
  const auto data = value_or_throw(value_or_throw(SafetensorsFile::open(path)).read("b"));
  EXPECT_EQ(data.span()[1], std::byte{1});
}

TEST(Safetensors, KeepsTheOrderOfTheHeader) {
  const test::TemporaryFolder folder;
  const auto path =
      folder.write("x", file_of(R"({"z":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                                R"("a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}})",
                                2));
  EXPECT_EQ(value_or_throw(SafetensorsFile::open(path)).tensors()[0].name, "z");
}

TEST(Safetensors, AFileWithoutTensorsIsAFile) {
  const test::TemporaryFolder folder;
  throw_if_error(write_safetensors(folder / "x", {}, {}));
  EXPECT_TRUE(value_or_throw(SafetensorsFile::open(folder / "x")).tensors().empty());
}

TEST(Safetensors, WhatTheFormatCannotHoldIsNotWritten) {
  const test::TemporaryFolder folder;
  const auto refusal = [&](std::string name, const Metadata& metadata) {
    const auto data = random_data(DType::kF32, {1}, 1);
    return std::string(
        write_safetensors(folder / "x", {{std::move(name), data}}, metadata).message());
  };
  EXPECT_NE(refusal("__metadata__", {}).find("__metadata__"), std::string::npos);
  EXPECT_EQ(refusal("\xff", {}), "the name \"\\xff\" is not UTF-8");
  EXPECT_EQ(refusal("x", {{"k\xff", ""}}), "the metadata key \"k\\xff\" is not UTF-8");
  EXPECT_EQ(refusal("x", {{"k", "\xff"}}), "the metadata of \"k\": \"\\xff\" is not UTF-8");
  EXPECT_EQ(folder.size(), 0U);
}

std::vector<HostileFile> hostile_lengths() {
  const std::string file = file_of("{}", 0);
  const auto with_length = [&](uint64_t length) { return little_endian(length) + file.substr(8); };
  std::string long_header = "{}";
  long_header.resize(kMaxSafetensorsHeaderBytes + 1, ' ');
  return {{"empty", "", "0 bytes"},
          {"seven bytes", "1234567", "7 bytes"},
          {"no header", std::string(8, '\0'), "does not begin with '{'"},
          {"one too many", with_length(3), "the header claims 3 bytes; 2 follow"},
          {"one too few", with_length(1), "the header is no JSON"},
          {"largest", with_length(UINT64_MAX), "claims 18446744073709551615 bytes"},
          {"wraps", with_length(UINT64_MAX - 7), "claims"},
          {"a terabyte", with_length(uint64_t{1} << 40), "claims 1099511627776 bytes"},
          {"beyond the format", file_of(long_header, 0), "the format allows 100000000"}};
}

std::vector<HostileFile> hostile_json() {
  const auto file = [](std::string name, std::string_view header, std::string message) {
    return HostileFile{std::move(name), file_of(header, 8), std::move(message)};
  };
  return {
      file("list", "[]", "does not begin with '{'"),
      file("blank", " {}", "does not begin with '{'"),
      file("no end", "{", "the header is no JSON at byte 2"),
      file("text behind", "{} x", "the header is no JSON"),
      file("zero behind", std::string_view("{}\0", 3), "the header is no JSON"),
      file("deep list", "{\"x\":" + std::string(1'000'000, '['), "tensor \"x\": a list is not"),
      file("deep object", R"({"x":{"dtype":{"y":{}}}})", "field \"dtype\": an object is not"),
      file("number", R"({"x": 1})", "tensor \"x\": a number is not expected"),
      file("float", R"({"x": 1e9999})", "the header is no JSON"),
      file("null", R"({"x": null})", "tensor \"x\": null is not expected"),
      file("not UTF-8", "{\"\xff\": 1}", "the header is no JSON"),
      file("metadata list", R"({"__metadata__": []})", "\"__metadata__\": a list is not"),
      file("metadata number", R"({"__metadata__": {"a": 1}})", "\"__metadata__\": \"a\": a number"),
      file("metadata object", R"({"__metadata__": {"a": {}}})", "\"a\": an object is not"),
      file("metadata twice", R"({"__metadata__": {}, "__metadata__": {}})", "comes twice"),
      file("metadata key twice", R"({"__metadata__": {"a": "", "a": ""}})",
           "\"a\": the key comes twice"),
      file("data without tensors", "{}", "the tensors fill 0 bytes, but 8 bytes"),
  };
}

std::vector<HostileFile> hostile_entries() {
  const auto entry = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                        const std::string& message) {
    const std::string header = str_cat(R"({"x": {"dtype": )", dtype, R"(, "shape": )", shape,
                                       R"(, "data_offsets": )", offsets, "}}");
    return HostileFile{header, file_of(header, 8), "tensor \"x\": field " + message};
  };
  const char* good = "[0, 8]";
  return {
      entry("\"F33\"", "[2]", good, "\"dtype\": \"F33\" is not one of BOOL, I8"),
      entry("\"f32\"", "[2]", good, "\"dtype\": \"f32\" is not one of"),
      entry("\"F8_E4M3\"", "[8]", good, "\"dtype\": \"F8_E4M3\" is not one of"),
      entry("1", "[2]", good, "\"dtype\": a number is not"),
      entry("\"F32\"", "[-2]", good, "\"shape\": -2 is negative"),
      entry("\"F32\"", "[2.5]", good, "\"shape\": \"2.5\" is not an integer"),
      entry("\"F32\"", "[18446744073709551616]", good,
            "\"shape\": \"18446744073709551616\" is not"),
      entry("\"F32\"", "[9223372036854775808]", good,
            "\"shape\": 9223372036854775808 is too large"),
      entry("\"F32\"", "[4294967296, 4294967296]", good,
            "\"shape\": shape [4294967296, 4294967296]"),
      entry("\"F32\"", "[9223372036854775807, 2]", good, "\"shape\": shape"),
      entry("\"F32\"", "[0, 9223372036854775807, 9]", "[0, 0]", "\"shape\": shape"),
      entry("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", good, "\"shape\": has more than 16"),
      entry("\"F32\"", "[[2]]", good, "\"shape\": a list is not"),
      entry("\"F32\"", "{}", good, "\"shape\": an object is not"),
      entry("\"F32\"", "2", good, "\"shape\": a number is not"),
      entry("\"F32\"", "[3]", good, "\"data_offsets\": [0, 8] are 8 bytes, but f32[3] takes 12"),
      entry("\"F32\"", "[2]", "[4, 12]", "\"data_offsets\": [4, 12] does not lie in the 8"),
      entry("\"F32\"", "[2]", "[8, 0]", "\"data_offsets\": [8, 0] does not lie"),
      entry("\"F32\"", "[2]", "[-8, 0]", "\"data_offsets\": -8 is negative"),
      entry("\"F32\"", "[2]", "[0]", "\"data_offsets\": is not a pair"),
      entry("\"F32\"", "[2]", "[0, 4, 8]", "\"data_offsets\": has more than 2"),
      entry("\"F32\"", "[2]", "0", "\"data_offsets\": a number is not"),
      entry("\"F32\"", "[0]", "[18446744073709551608, 18446744073709551608]",
            "\"data_offsets\": 18446744073709551608 is too large"),
  };
}

std::vector<HostileFile> hostile_places() {
  const auto two = [](std::string_view first, std::string_view second, std::string message,
                      std::string_view name = "b") {
    const std::string header =
        str_cat(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": )", first, "}, \"", name,
                R"(": {"dtype": "U8", "shape": [4], "data_offsets": )", second, "}}");
    return HostileFile{header, file_of(header, 8), std::move(message)};
  };
  const auto fields = [](std::string_view body, std::string message) {
    const std::string header = str_cat("{\"a\": {", body, "}}");
    return HostileFile{header, file_of(header, 0), std::move(message)};
  };
  return {
      two("[0, 4]", "[0, 4]", "begins at 0, but what lies before it ends at 4: they overlap"),
      two("[2, 6]", "[4, 8]", "tensor \"a\": field \"data_offsets\": begins at 2"),
      two("[0, 4]", "[3, 7]",
          "tensor \"b\": field \"data_offsets\": begins at 3, but what lies "
          "before it ends at 4: they overlap"),
      two("[4, 8]", "[4, 8]", "begins at 4, but what lies before it ends at 0: there is a hole"),
      two("[0, 4]", "[4, 8]", "tensor \"a\": the name comes twice", "a"),
      fields(R"("shape": [0], "data_offsets": [0, 0])", "tensor \"a\": field \"dtype\" is missing"),
      fields(R"("dtype": "U8", "data_offsets": [0, 0])", "field \"shape\" is missing"),
      fields(R"("dtype": "U8", "shape": [0])", "field \"data_offsets\" is missing"),
      fields(R"("dtype": "U8", "dtype": "U8")", "tensor \"a\": field \"dtype\" comes twice"),
      fields(R"("other": 1)", "tensor \"a\": field \"other\" is unknown"),
  };
}

TEST(Safetensors, HostileFilesAreRefusedByFieldAndValue) {
  expect_refused(hostile_lengths(), read_everything);
  expect_refused(hostile_json(), read_everything);
  expect_refused(hostile_entries(), read_everything);
  expect_refused(hostile_places(), read_everything);
}

TEST(Safetensors, WhatAFileSaysIsRepeatedInShortAndPrintableForm) {
  const test::TemporaryFolder folder;
  const std::string header = str_cat("{\"\\u0007", std::string(5000, 'n'), "\": 1}");
  const auto status = read_everything(folder.write("x", file_of(header, 0)));
  EXPECT_LT(status.message().size(), 200U);
  EXPECT_NE(status.message().find("\\x07nnn"), std::string::npos) << status;
}

TEST(Safetensors, ASmallFileThatNamesAHugeTensorAllocatesNothing) {
  const test::TemporaryFolder folder;
  const auto status = read_everything(folder.write(
      "x",
      file_of(
          R"({"x":{"dtype":"U8","shape":[281474976710656],"data_offsets":[0,281474976710656]}})",
          8)));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(Safetensors, AFileThatShrinksWhileItIsReadIsDataLoss) {
  const test::TemporaryFolder folder;
  throw_if_error(write_safetensors(folder / "x", {{"a", random_data(DType::kF32, {100}, 1)}}, {}));
  const SafetensorsFile file = value_or_throw(SafetensorsFile::open(folder / "x"));
  std::filesystem::resize_file(folder / "x", 100);
  EXPECT_EQ(file.read("a").status().code(), absl::StatusCode::kDataLoss);
}

TEST(Safetensors, DamagedFilesGiveAnErrorOrAnAnswer) {
  const test::TemporaryFolder folder;
  std::vector<NamedData> tensors;
  for (const DType dtype : all_dtypes()) {
    tensors.push_back({std::string(dtype_name(dtype)), random_data(dtype, {2, 3}, 7)});
  }
  throw_if_error(write_safetensors(folder / "x", tensors, {{"format", "pt"}}));
  expect_survives_damage(test::bytes_of(folder / "x"), read_everything);
}

}  // namespace
}  // namespace remora::io
