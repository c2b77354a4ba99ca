#include "client/io/npy_format.h"

#include <gtest/gtest.h>

#include <span>

#include "client/io/numpy_files.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/io/format_cases.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

absl::Status read_file(const std::filesystem::path& path) { return read_npy_file(path).status(); }

/// A file of version 1 with that dict, unpadded, and data of `data_bytes` counted up from 0.
std::string file_of(std::string_view dict, size_t data_bytes) {
  std::string bytes = str_cat("\x93NUMPY", std::string("\x01\0", 2),
                              little_endian(static_cast<uint16_t>(dict.size())), dict);
  for (size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

TEST(Npy, WritesTheHeaderThatNumPyReads) {
  const std::string header = value_or_throw(format_npy_header({DType::kF32, {3, 4}}));
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  EXPECT_EQ(header.size(), 128U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(header.substr(10, dict.size()), dict);
  EXPECT_EQ(header.back(), '\n');
  EXPECT_NE(value_or_throw(format_npy_header({DType::kBool, {}})).find("'|b1'"), std::string::npos);
  EXPECT_NE(value_or_throw(format_npy_header({DType::kI64, {7}})).find("(7,)"), std::string::npos);
  EXPECT_EQ(format_npy_header({DType::kBF16, {1}}).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(Npy, EveryElementTypeAndShapeComesBack) {
  const test::TemporaryFolder folder;
  uint64_t seed = 0;
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::kBF16) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 0, 3}, Shape{3, 1, 2, 4}}) {
      const dispatch::HostData data = random_data(dtype, shape, ++seed);
      throw_if_error(write_npy_file(folder / "x", data));
      EXPECT_EQ(test::bytes_of(folder / "x").size() % 64,
                static_cast<size_t>(data.spec.byte_size()) % 64);
      expect_same(value_or_throw(read_npy_file(folder / "x")), data);
    }
  }
}

TEST(Npy, ReadsEveryWayADictMayBeWritten) {
  for (const char* dict :
       {"{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }   \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<i2\"}",
        "{ 'descr' : '=i2' , 'fortran_order' : False , 'shape' : ( 2L , 3L ) , }\n"}) {
    const auto header = parse_npy_header(dict);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->spec.str(), "i16[2, 3]");
    EXPECT_FALSE(header->fortran_order);
  }
}

TEST(Npy, ReadsTheLengthsOfAllVersions) {
  const test::TemporaryFolder folder;
  const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  for (const char version : {'\x02', '\x03'}) {
    const auto path =
        folder.write("x", str_cat("\x93NUMPY", std::string(1, version), std::string(1, '\0'),
                                  little_endian(static_cast<uint32_t>(dict.size())), dict, "ab"));
    EXPECT_EQ(value_or_throw(read_npy_file(path)).spec.str(), "u8[2]");
  }
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  const test::TemporaryFolder folder;
  const auto bytes_of_shape = [&](std::string_view shape, size_t count) {
    const auto data = value_or_throw(read_npy_file(folder.write(
        "x",
        file_of(str_cat("{'descr': '|u1', 'fortran_order': True, 'shape': ", shape, "}"), count))));
    std::vector<int> values;
    for (const std::byte byte : data.span()) values.push_back(static_cast<int>(byte));
    return values;
  };
  EXPECT_EQ(bytes_of_shape("(2, 3)", 6), (std::vector<int>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(bytes_of_shape("(4,)", 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(bytes_of_shape("()", 1), (std::vector<int>{0}));
  EXPECT_EQ(bytes_of_shape("(2, 0, 3)", 0), (std::vector<int>{}));
  EXPECT_EQ(bytes_of_shape("(2, 2, 3)", 12),
            (std::vector<int>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
}

TEST(Npy, HostileBeginningsAreRefused) {
  const std::string good = file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", 2);
  const auto changed = [&](size_t place, char byte) {
    std::string bytes = good;
    bytes[place] = byte;
    return bytes;
  };
  expect_refused({{"empty", "", "0 bytes"},
                  {"short", good.substr(0, 7), "7 bytes"},
                  {"magic", changed(0, 'x'), "does not begin with"},
                  {"version 0", changed(6, '\0'), "the version is 0.0"},
                  {"version 4", changed(6, '\x04'), "the version is 4.0"},
                  {"version 1.1", changed(7, '\x01'), "the version is 1.1"},
                  {"no length", good.substr(0, 9), "ends before the header"},
                  {"length", changed(9, '\x7f'), "the header claims"},
                  {"long",
                   "\x93NUMPY" + std::string("\x02\0", 2) + std::string("\xff\xff\xff\xff") +
                       std::string(100'000, ' '),
                   "the header claims 4294967295 bytes"},
                  {"beyond the limit",
                   "\x93NUMPY" + std::string("\x02\0", 2) + little_endian(uint32_t{70'000}) +
                       std::string(100'000, ' '),
                   "the limit is 65536"},
                  {"one byte missing", good.substr(0, good.size() - 1), "takes 2 bytes, but 1"},
                  {"one byte more", good + "x", "takes 2 bytes, but 3 follow"}},
                 read_file);
}

TEST(Npy, HostileDictsAreRefusedByField) {
  const auto dict = [](const std::string& text, std::string message,
                       absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    return HostileFile{text, file_of(text, 8), std::move(message), code};
  };
  const auto shape = [&](const std::string& text, const std::string& message) {
    return dict("{'descr': '<f4', 'fortran_order': False, 'shape': " + text + ", }",
                "field \"shape\": " + message);
  };
  expect_refused(
      {dict("", "is not a dict"),
       dict("[]", "is not a dict"),
       dict("{", "a string is missing"),
       dict("{}", "field \"descr\": is missing"),
       dict("{'descr': '<f4'}", "field \"fortran_order\": is missing"),
       dict("{'descr': '<f4', 'fortran_order': False}", "field \"shape\": is missing"),
       dict("{'descr': '<f4', 'descr': '<f4'}", "field \"descr\": comes twice"),
       dict("{'other': 1}", "field \"other\": is unknown"),
       dict("{'descr' '<f4'}", "field \"descr\": has no ':'"),
       dict("{'descr': '<f4' 'shape': ()}", "field \"descr\": has no ','"),
       dict("{'descr': '<f4", "the string at byte 11 has no end"),
       dict("{'descr': '\\x3cf4'}", "an escape in it"),
       dict("{'descr': 4}", "field \"descr\": a string is missing"),
       dict("{'descr': ''}", "field \"descr\": \"\" is no element type"),
       dict("{'fortran_order': 0}", "field \"fortran_order\": is neither True nor False"),
       dict("{'fortran_order': __import__('os').abort()}", "is neither True nor False"),
       dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "text behind the dict"),
       shape("2", "is not a tuple"),
       shape("[2]", "is not a tuple"),
       shape("(2)", "is not a tuple of numbers"),
       shape("(2 3)", "is not a tuple of numbers"),
       shape("(2,", "a number is missing"),
       shape("(,)", "a number is missing"),
       shape("(2.0,)", "is not a tuple of numbers"),
       shape("(-2,)", "shape [-2] has a negative size"),
       shape("(99999999999999999999,)", "the number at byte 51 does not fit 64 bits"),
       shape("(4294967296, 4294967296)", "shape [4294967296, 4294967296] exceeds"),
       shape("(0, 9223372036854775807, 9)", "shape [0, 9223372036854775807, 9] exceeds"),
       shape("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)", "has more than 16 sizes"),
       shape("(281474976710656,)",
             "f32[281474976710656] takes 1125899906842624 bytes, but 8 follow"),
       shape("(((2,),),)", "a number is missing")},
      read_file);
}

TEST(Npy, ElementTypesThatNoTensorHasAreRefusedByName) {
  const auto descr = [](std::string_view type, std::string message) {
    const std::string dict =
        str_cat("{'descr': ", type, ", 'fortran_order': False, 'shape': (1,), }");
    return HostileFile{dict, file_of(dict, 8), "field \"descr\": " + std::move(message),
                       absl::StatusCode::kUnimplemented};
  };
  expect_refused(
      {descr("'>f4'", "\">f4\" is big-endian; save it with array.astype('<f4')"),
       descr("'|O'", "\"|O\" holds Python objects"),
       descr("'<c8'", "\"<c8\" is no element type of a tensor"),
       descr("'<U4'", "\"<U4\" is no element type"),
       descr("'<M8[ns]'", "\"<M8[ns]\" is no element type"),
       descr("'<f16'", "\"<f16\" is no element type"), descr("'|V2'", "\"|V2\" is no element type"),
       descr("'f4'", "\"f4\" is no element type"),
       descr("[('a', '<f4'), ('b', '<f4')]", "a structured array is no tensor")},
      read_file);
}

TEST(Npy, DamagedFilesGiveAnErrorOrAnAnswer) {
  const test::TemporaryFolder folder;
  throw_if_error(write_npy_file(folder / "x", random_data(DType::kI16, {3, 4}, 1)));
  expect_survives_damage(test::bytes_of(folder / "x"), read_file);
}

}  // namespace
}  // namespace remora::io
