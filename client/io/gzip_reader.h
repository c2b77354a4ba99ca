// Reads a file that may or may not be compressed with gzip, from its beginning to its end. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

struct gzFile_s;

namespace remora::io {

class GzipReader {
 public:
  static absl::StatusOr<GzipReader> open(const std::filesystem::path& path);

  /// True if the file is not compressed: then `file_bytes` are all there is to read.
  bool is_plain() const;
  int64_t file_bytes() const { return file_bytes_; }
  /// Fills `target` and returns how much of it; less than all only at the end. DATA_LOSS for a
  /// stream that is cut short or broken.
  absl::StatusOr<size_t> read(std::span<std::byte> target);

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  GzipReader(gzFile_s* file, int64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}
  std::unique_ptr<gzFile_s, Close> file_;
  int64_t file_bytes_;
};

}  // namespace remora::io
