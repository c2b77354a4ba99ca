// The IDX format of the MNIST files: two zero bytes, the element type, the number of axes, their
// sizes, the elements; all numbers big-endian. A file may be compressed with gzip. Any thread may
// call it.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"
#include "dispatch/buffer.h"

namespace remora::io {

/// The whole file, with the elements in the machine's byte order: u8, i8, i16, i32, f32 or f64.
/// What is allocated grows with what is read, never by the header's word alone. INVALID_ARGUMENT
/// names the field and what is wrong, DATA_LOSS a broken gzip stream, RESOURCE_EXHAUSTED a
/// compressed file of more than client/limits.h allows. Errors do not name the path.
absl::StatusOr<dispatch::HostData> read_idx(const std::filesystem::path& path);

}  // namespace remora::io
