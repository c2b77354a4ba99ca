// Zip archives of stored or deflated entries. Where the build has no zip library (option
// REMORA_ZIP), both functions answer UNIMPLEMENTED. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/io/input_file.h"

namespace remora::io {

/// An archive open for reading. Its directory has been checked against the file's real size: no
/// entry, nor all of them together, can stand for more bytes than deflate could have packed into
/// it.
class ZipReader {
 public:
  struct Entry {
    std::string name;
    int64_t bytes = 0;  // when inflated
  };

  /// INVALID_ARGUMENT names the entry and what is wrong, UNIMPLEMENTED one that is encrypted or
  /// packed in another way.
  static absl::StatusOr<ZipReader> open(const InputFile& file);
  ZipReader(ZipReader&&) noexcept;
  ~ZipReader();

  const std::vector<Entry>& entries() const { return entries_; }
  /// Calls `consume` with a function that gives the entry's bytes from the first on, then checks
  /// the entry's checksum. `consume` must take all of them. DATA_LOSS for broken data.
  absl::Status read(size_t index,
                    const std::function<absl::Status(const ReadNext& read)>& consume) const;

 private:
  struct Archive;
  ZipReader(std::unique_ptr<Archive> archive, std::vector<Entry> entries);
  std::unique_ptr<Archive> archive_;
  std::vector<Entry> entries_;
};

/// An entry to write: its bytes are those of the parts, one after another.
struct ZipMember {
  std::string name;
  std::vector<std::span<const std::byte>> parts;
};

/// Replaces the file at `path`, deflated or stored. Equal members give equal files.
absl::Status write_zip(const std::filesystem::path& path, std::span<const ZipMember> members,
                       bool deflated);

}  // namespace remora::io
