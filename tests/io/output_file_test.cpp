#include "client/io/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "client/io/numpy_files.h"
#include "client/io/safetensors_file.h"
#include "dispatch/error.h"
#include "tests/io/format_cases.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {
namespace {

absl::Status write(const std::filesystem::path& path, std::string_view text) {
  REMORA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  REMORA_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

TEST(OutputFile, ReplacesTheOldFileInOneStep) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("x", "old");
  {
    OutputFile file = value_or_throw(OutputFile::create(path));
    throw_if_error(file.write("new"));
    EXPECT_EQ(test::bytes_of(path), "old");
    throw_if_error(file.commit());
  }
  EXPECT_EQ(test::bytes_of(path), "new");
  EXPECT_EQ(folder.size(), 1U);
}

TEST(OutputFile, WhatIsNotCommittedLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("x", "old");
  {
    OutputFile file = value_or_throw(OutputFile::create(path));
    const OutputFile moved = std::move(file);
    EXPECT_EQ(folder.size(), 2U);
  }
  EXPECT_EQ(test::bytes_of(path), "old");
  EXPECT_EQ(folder.size(), 1U);
}

TEST(OutputFile, KeepsTheModeOfTheOldFileAndHeedsTheUmaskOtherwise) {
  const test::TemporaryFolder folder;
  const auto mode_of = [](const std::filesystem::path& path) {
    struct stat status = {};
    stat(path.c_str(), &status);
    return status.st_mode & 07777;
  };
  const auto path = folder.write("x", "old");
  chmod(path.c_str(), 0640);
  throw_if_error(write(path, "new"));
  EXPECT_EQ(mode_of(path), 0640U);
  const mode_t old = umask(027);
  throw_if_error(write(folder / "y", "new"));
  throw_if_error(write_npz(folder / "z",
                           std::vector<NamedData>{{"a", random_data(DType::kF32, {1}, 1)}}, true));
  umask(old);
  EXPECT_EQ(mode_of(folder / "y"), 0640U);
  EXPECT_EQ(mode_of(folder / "z"), 0640U);
}

TEST(OutputFile, ASymbolicLinkStaysOneAndItsTargetIsReplaced) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  throw_if_error(write(folder / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(test::bytes_of(path), "new");
}

TEST(OutputFile, ALinkToWhatIsNotThereStaysALinkAndItsTargetIsMade) {
  const test::TemporaryFolder folder;
  std::filesystem::create_symlink("middle", folder / "link");
  std::filesystem::create_symlink(folder / "target", folder / "middle");
  throw_if_error(write(folder / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "middle"));
  EXPECT_EQ(test::bytes_of(folder / "target"), "new");
}

TEST(OutputFile, ANameWithoutAFolderIsOfTheCurrentOne) {
  const test::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const absl::Status status = write("x", "new");
  std::filesystem::current_path(before);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(test::bytes_of(folder / "x"), "new");
}

TEST(OutputFile, PathsThatCannotBeWrittenAreRefusedWithTheReason) {
  const test::TemporaryFolder folder;
  const absl::Status folder_status = write(folder.path(), "new");
  EXPECT_EQ(folder_status.message(), "is not a regular file");
  EXPECT_EQ(write("/dev/full", "new").message(), "is not a regular file");
  const absl::Status missing = write(folder / "no" / "x", "new");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "a file beside it cannot be created: No such file or directory");
}

/// While one is alive, no file of this process grows beyond a limit: a disk that is full. SIGXFSZ,
/// which would end the process, is ignored, so that writing fails with EFBIG.
class FullDisk {
 public:
  explicit FullDisk(rlim_t limit_bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit = {limit_bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit old_ = {};
};

TEST(OutputFile, AFullDiskLeavesTheOldFileWhole) {
  const test::TemporaryFolder folder;
  const std::vector<NamedData> large = {{"a", random_data(DType::kF32, {1000, 100}, 1)}};
  struct Format {
    const char* name;
    std::function<absl::Status(const std::filesystem::path&)> write;
  };
  for (const Format& format :
       {Format{"safetensors", [&](const auto& path) { return write_safetensors(path, large, {}); }},
        Format{"npy", [&](const auto& path) { return write_npy_file(path, large[0].data); }},
        Format{"npz", [&](const auto& path) { return write_npz(path, large, false); }},
        Format{"deflated", [&](const auto& path) { return write_npz(path, large, true); }}}) {
    SCOPED_TRACE(format.name);
    const auto path = folder.write("x", "old");
    absl::Status status;
    {
      const FullDisk full(4096);
      status = format.write(path);
    }
    EXPECT_FALSE(status.ok());
    EXPECT_NE(std::string(status.message()).find("File too large"), std::string::npos) << status;
    EXPECT_EQ(test::bytes_of(path), "old");
    EXPECT_EQ(folder.size(), 1U);
  }
}

}  // namespace
}  // namespace remora::io
