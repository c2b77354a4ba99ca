// A safetensors file: opened, its header is read and checked whole; tensors are read one by one.
// Immutable; any thread may read.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "client/io/input_file.h"
#include "client/io/safetensors_header.h"

namespace remora::io {

class SafetensorsFile {
 public:
  /// Everything the header says is checked against the file's size. Errors do not name the path.
  static absl::StatusOr<SafetensorsFile> open(const std::filesystem::path& path);

  const std::vector<SafetensorsHeader::Tensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }
  /// The tensor of that name, or nullptr.
  const SafetensorsHeader::Tensor* find(std::string_view name) const;
  /// The bytes of one of `tensors()`.
  absl::StatusOr<dispatch::HostData> read(const SafetensorsHeader::Tensor& tensor) const;
  /// The bytes of the tensor of that name; NOT_FOUND if there is none.
  absl::StatusOr<dispatch::HostData> read(std::string_view name) const;

 private:
  SafetensorsFile(InputFile file, SafetensorsHeader header, int64_t data_begin)
      : file_(std::move(file)), header_(std::move(header)), data_begin_(data_begin) {}
  InputFile file_;
  SafetensorsHeader header_;
  int64_t data_begin_;
};

/// Writes a file whole or not at all (output_file.h). INVALID_ARGUMENT where
/// format_safetensors_header refuses.
absl::Status write_safetensors(const std::filesystem::path& path, std::vector<NamedData> tensors,
                               const Metadata& metadata);

}  // namespace remora::io
