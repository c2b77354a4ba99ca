// NumPy's files: .npy, one array, and .npz, a zip archive with an .npy file for each array. Not
// thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "client/io/host_tensors.h"
#include "client/io/zip_archive.h"

namespace remora::io {

class NpzFile {
 public:
  /// INVALID_ARGUMENT names the entry that is no array or comes twice. Errors do not name the path.
  static absl::StatusOr<NpzFile> open(const std::filesystem::path& path);

  /// The arrays' names, without ".npy", in the order of the archive.
  const std::vector<std::string>& names() const { return names_; }
  absl::StatusOr<dispatch::HostData> read(size_t index) const;

 private:
  NpzFile(ZipReader archive, std::vector<std::string> names)
      : archive_(std::move(archive)), names_(std::move(names)) {}
  ZipReader archive_;
  std::vector<std::string> names_;
};

/// Writes an archive whole or not at all (output_file.h). UNIMPLEMENTED names a tensor of bf16.
absl::Status write_npz(const std::filesystem::path& path, std::span<const NamedData> tensors,
                       bool deflated);

/// A single array.
absl::StatusOr<dispatch::HostData> read_npy_file(const std::filesystem::path& path);
absl::Status write_npy_file(const std::filesystem::path& path, const dispatch::HostData& data);

}  // namespace remora::io
