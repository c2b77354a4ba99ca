// A captured graph in a file: a safetensors file, so that other tools see the initializers, with
// the graph's encoding (dispatch/captured_program.h) as one more tensor and its version and
// checksum as metadata. Any thread may call these functions.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"
#include "dispatch/captured_program.h"

namespace remora::io {

/// Writes a file whole or not at all (output_file.h). Errors do not name the path.
absl::Status write_captured(const std::filesystem::path& path,
                            const dispatch::CapturedProgram& program);

/// Nothing in the file is believed: counts, positions, shapes and every shape rule are checked
/// again, and what is allocated is bounded by the file's real size. INVALID_ARGUMENT for what is no
/// captured graph, UNIMPLEMENTED for one of another version, DATA_LOSS where the checksum differs,
/// RESOURCE_EXHAUSTED beyond dispatch/limits.h. Errors do not name the path.
absl::StatusOr<dispatch::CapturedProgram> read_captured(const std::filesystem::path& path);

}  // namespace remora::io
