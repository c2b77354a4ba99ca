#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/io/npy_format.h"
#include "client/io/numpy_files.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/io/format_cases.h"
#include "tests/io/zip_bytes.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

absl::Status read_everything(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const NpzFile file, NpzFile::open(path));
  for (size_t i = 0; i < file.names().size(); ++i) {
    REMORA_RETURN_IF_ERROR(file.read(i).status());
  }
  return absl::OkStatus();
}

/// The bytes of an .npy file of zeros.
std::string zeros(DType dtype, const Shape& shape) {
  const Spec spec{dtype, shape};
  return value_or_throw(format_npy_header(spec)) +
         std::string(static_cast<size_t>(spec.byte_size()), '\0');
}

std::vector<NamedData> some_tensors() {
  std::vector<NamedData> tensors;
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::kBF16) continue;
    tensors.push_back({std::string(dtype_name(dtype)), random_data(dtype, {2, 3}, 1)});
  }
  tensors.push_back({"a/b c\xc3\xa9", random_data(DType::kF32, {}, 2)});
  tensors.push_back({"", random_data(DType::kF32, {0, 5}, 2)});
  return tensors;
}

TEST(Npz, StoredAndDeflatedArchivesComeBack) {
  const test::TemporaryFolder folder;
  for (const bool deflated : {false, true}) {
    const std::vector<NamedData> tensors = some_tensors();
    throw_if_error(write_npz(folder / "x", tensors, deflated));
    const NpzFile file = value_or_throw(NpzFile::open(folder / "x"));
    ASSERT_EQ(file.names().size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(file.names()[i], tensors[i].name);
      expect_same(value_or_throw(file.read(i)), tensors[i].data);
    }
  }
}

TEST(Npz, EqualTensorsGiveEqualFiles) {
  const test::TemporaryFolder folder;
  throw_if_error(write_npz(folder / "x", some_tensors(), true));
  throw_if_error(write_npz(folder / "y", some_tensors(), true));
  EXPECT_EQ(test::bytes_of(folder / "x"), test::bytes_of(folder / "y"));
  EXPECT_EQ(folder.size(), 2U);
}

TEST(Npz, AnEmptyArchiveIsAnArchive) {
  const test::TemporaryFolder folder;
  throw_if_error(write_npz(folder / "x", {}, false));
  EXPECT_TRUE(value_or_throw(NpzFile::open(folder / "x")).names().empty());
}

TEST(Npz, WhatTheFormatCannotHoldIsNotWritten) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::vector<NamedData>& tensors) {
    return write_npz(folder / "x", tensors, false);
  };
  const auto data = random_data(DType::kF32, {1}, 1);
  EXPECT_EQ(write({{"a", data}, {"b", random_data(DType::kBF16, {1}, 1)}}).message(),
            "tensor \"b\": NumPy has no bf16: convert the tensor with astype, or save it as "
            "safetensors");
  EXPECT_FALSE(write({{"a", data}, {"a", data}}).ok());
  EXPECT_FALSE(write({{"\xff", data}}).ok());
  EXPECT_THAT(write({{std::string("a\0b", 3), data}}).message(),
              testing::HasSubstr("a name cannot hold a NUL"));
  EXPECT_EQ(folder.size(), 0U);
}

std::vector<HostileFile> hostile_archives() {
  const std::string array = zeros(DType::kF32, {100});
  const RawZipEntry good = zip_entry("a.npy", array, true);
  const auto with = [&](std::string name, std::string message, auto change,
                        absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    RawZipEntry entry = good;
    change(entry);
    return HostileFile{std::move(name), zip_bytes({entry}), std::move(message), code};
  };
  const auto content = [&](std::string name, const std::string& bytes, std::string message) {
    return HostileFile{std::move(name), zip_bytes({zip_entry("a.npy", bytes, true)}),
                       std::move(message)};
  };
  return {
      {"empty", "", ""},
      {"no archive", std::string(1000, 'x'), ""},
      with("no .npy", "entry \"a.txt\": is no array", [](auto& entry) { entry.name = "a.txt"; }),
      {"a name twice", zip_bytes({good, good}), "entry \"a.npy\": the name comes twice"},
      with(
          "encrypted", "entry \"a.npy\": is encrypted", [](auto& entry) { entry.flags = 1; },
          absl::StatusCode::kUnimplemented),
      with(
          "packed by bzip2", "entry \"a.npy\": is packed by method 12",
          [](auto& entry) { entry.method = 12; }, absl::StatusCode::kUnimplemented),
      with("a bomb by its word", "claims 4000000000 bytes",
           [](auto& entry) { entry.bytes = 4'000'000'000; }),
      with("packed beyond the file", "packed bytes where the file has",
           [](auto& entry) { entry.packed_bytes = 1'000'000; }),
      with(
          "checksum", "CRC", [](auto& entry) { entry.checksum ^= 1; }, absl::StatusCode::kDataLoss),
      with("one byte more claimed", "takes 400 bytes, but 401 follow",
           [](auto& entry) { ++entry.bytes; }),
      with("one byte less claimed", "takes 400 bytes, but 399 follow",
           [](auto& entry) { --entry.bytes; }),
      with(
          "broken deflate", "", [](auto& entry) { entry.packed[0] = '\x07'; },
          absl::StatusCode::kDataLoss),
      content("no array inside", "hello world", "entry \"a.npy\": does not begin with"),
      content("a huge shape",
              value_or_throw(format_npy_header({DType::kF64, {int64_t{1} << 40}})) + "12345678",
              "takes 8796093022208 bytes, but 8 follow"),
  };
}

TEST(Npz, HostileArchivesAreRefusedByEntryAndValue) {
  expect_refused(hostile_archives(), read_everything);
}

// A stored array of 50 MB of zeros that deflates to 50 kB, shared by eight names.
TEST(Npz, EntriesThatShareBytesAreRefusedBeforeAnythingIsInflated) {
  const test::TemporaryFolder folder;
  std::vector<RawZipEntry> entries = {zip_entry("0.npy", zeros(DType::kU8, {50'000'000}), true)};
  for (int i = 1; i < 8; ++i) {
    entries.push_back(entries[0]);
    entries.back().name = std::to_string(i) + ".npy";
    entries.back().shares = 0;
  }
  const auto file = NpzFile::open(folder.write("x", zip_bytes(entries)));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("belong to no other entry"), std::string::npos)
      << file.status();
}

TEST(Npz, DamagedArchivesGiveAnErrorOrAnAnswer) {
  const test::TemporaryFolder folder;
  for (const bool deflated : {false, true}) {
    throw_if_error(write_npz(folder / "x",
                             std::vector<NamedData>{{"a", random_data(DType::kI16, {3, 4}, 1)},
                                                    {"b", random_data(DType::kBool, {2}, 2)}},
                             deflated));
    expect_survives_damage(test::bytes_of(folder / "x"), read_everything);
  }
}

}  // namespace
}  // namespace remora::io
