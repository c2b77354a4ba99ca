// Whole files as bytes, with a bound on their size.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace remora::opinfo {

/// The bytes of a regular file. NOT_FOUND if it cannot be opened, RESOURCE_EXHAUSTED beyond
/// `limit_bytes`.
absl::StatusOr<std::string> read_file(const std::filesystem::path& path, int64_t limit_bytes);

}  // namespace remora::opinfo
