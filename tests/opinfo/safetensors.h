// Reads the safetensors format: an 8-byte little-endian length, that many bytes of JSON that name
// each tensor's element type, shape and place, then the data. The file is not trusted: every entry
// is checked against the file's size before a tensor is given out. Immutable once read; any thread
// may call it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "dispatch/buffer.h"

namespace remora::opinfo {

class Safetensors {
 public:
  /// INVALID_ARGUMENT names the tensor and what is wrong with it.
  static absl::StatusOr<Safetensors> read(const std::filesystem::path& path);
  static absl::StatusOr<Safetensors> parse(std::string bytes);

  size_t size() const { return entries_.size(); }
  /// What is known of a tensor, or nullptr if there is none of that name.
  const Spec* find(std::string_view name) const;
  /// A copy of a tensor's bytes; NOT_FOUND if there is none of that name.
  absl::StatusOr<dispatch::HostData> load(std::string_view name) const;

 private:
  struct Entry {
    Spec spec;
    size_t begin = 0;  // offset in bytes_
  };

  std::string bytes_;
  absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace remora::opinfo
