#include "client/io/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "client/io/file_error.h"
#include "client/io/gzip_reader.h"
#include "dispatch/error.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

TEST(InputFile, OnlyRegularFilesAreOpenedAndAPipeIsNotWaitedFor) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder / "pipe", folder.path(), std::filesystem::path("/dev/zero")}) {
    EXPECT_EQ(InputFile::open(path).status().message(), "is not a regular file") << path;
    EXPECT_EQ(GzipReader::open(path).status().message(), "is not a regular file") << path;
  }
  const absl::Status missing = InputFile::open(folder / "no").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "cannot be opened: No such file or directory");
}

TEST(InputFile, ReadsAnyPartAndSaysWhereTheFileEnds) {
  const test::TemporaryFolder folder;
  const InputFile file = value_or_throw(InputFile::open(folder.write("x", "0123456789")));
  EXPECT_EQ(file.size_bytes(), 10);
  std::array<char, 4> part = {};
  throw_if_error(file.read(3, std::as_writable_bytes(std::span(part))));
  EXPECT_EQ(std::string(part.data(), part.size()), "3456");
  const absl::Status status = file.read(8, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("ends at byte 10"), std::string::npos) << status;
}

TEST(InputFile, ATensorThatNoMemoryHoldsIsAnErrorNotACrash) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator ends the process instead";
#endif
  const Spec spec{DType::kF64, {int64_t{1} << 47}};
  const auto data = read_elements(spec, [](std::span<std::byte>) { return absl::OkStatus(); });
  EXPECT_EQ(data.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(FileError, RepeatsOnlyAPrintableBeginningOfAText) {
  EXPECT_EQ(in_quotes("a\nb\"\x01"), R"("a\nb\"\x01")");
  EXPECT_EQ(in_quotes(std::string(500, 'x')).size(), 85U);
}

}  // namespace
}  // namespace remora::io
