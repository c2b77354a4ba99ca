// A file that appears whole or not at all: everything is written to a temporary file beside it
// (".remora-*.tmp"), which takes its place in one step. Whatever fails before, a full disk or the
// process, leaves the old file as it was. Not thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/io/descriptor.h"

namespace remora::io {

class OutputFile {
 public:
  /// Creates the temporary file. A symbolic link is followed: its target will be replaced.
  /// INVALID_ARGUMENT if the path names something that is no regular file.
  static absl::StatusOr<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes the temporary file unless it was committed.
  ~OutputFile();

  absl::Status write(std::span<const std::byte> bytes);
  absl::Status write(std::string_view text);
  /// For a library that writes by name; it may replace that file.
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Brings the bytes to the disk and the file to its place, with the mode of the file it replaces.
  absl::Status commit();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path temporary, Descriptor descriptor);
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once it is gone
  Descriptor descriptor_;
};

}  // namespace remora::io
