#include "tests/opinfo/file_bytes.h"

#include <fstream>
#include <system_error>

#include "dispatch/str_cat.h"

namespace remora::opinfo {

absl::StatusOr<std::string> read_file(const std::filesystem::path& path, int64_t limit_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(str_cat(path.string(), ": there is no such file"));
  }
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) return absl::NotFoundError(str_cat(path.string(), ": ", error.message()));
  if (size > limit_bytes) {
    return absl::ResourceExhaustedError(
        str_cat(path.string(), ": ", size, " bytes, but at most ", limit_bytes, " bytes are read"));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(static_cast<size_t>(size), '\0');
  if (!stream.read(bytes.data(), size)) {
    return absl::DataLossError(str_cat(path.string(), ": cannot read ", size, " bytes"));
  }
  return bytes;
}

}  // namespace remora::opinfo
