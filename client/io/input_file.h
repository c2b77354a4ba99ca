// A regular file open for reading at any offset. Its real size bounds what a reader may allocate.
// Immutable; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "client/io/descriptor.h"
#include "dispatch/buffer.h"

namespace remora::io {

class InputFile {
 public:
  /// NOT_FOUND, PERMISSION_DENIED or what the system says; INVALID_ARGUMENT if it is no regular
  /// file. Never blocks on a pipe.
  static absl::StatusOr<InputFile> open(const std::filesystem::path& path);

  int64_t size_bytes() const { return size_bytes_; }
  /// Fills `target` from `offset`; DATA_LOSS if the file has become shorter than that.
  absl::Status read(int64_t offset, std::span<std::byte> target) const;
  /// A second descriptor of the file, for a library that reads it by itself.
  absl::StatusOr<Descriptor> duplicate() const;

 private:
  InputFile(Descriptor descriptor, int64_t size_bytes)
      : descriptor_(std::move(descriptor)), size_bytes_(size_bytes) {}
  Descriptor descriptor_;
  int64_t size_bytes_;
};

/// Fills all of a span with the bytes that come next, or says why it cannot.
using ReadNext = std::function<absl::Status(std::span<std::byte>)>;

/// The bytes of a tensor, filled by `read`; every byte of a bool becomes 0 or 1. `spec` must have
/// been checked against what the file really holds. RESOURCE_EXHAUSTED if there is no memory for
/// it.
absl::StatusOr<dispatch::HostData> read_elements(const Spec& spec, const ReadNext& read);

}  // namespace remora::io
