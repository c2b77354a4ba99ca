#include "client/io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "client/io/file_error.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

absl::StatusOr<InputFile> InputFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe would wait for its other end; regular files ignore it.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) return system_error("cannot be opened", errno);
  struct stat status = {};
  if (fstat(descriptor.number(), &status) != 0) return system_error("cannot be read", errno);
  if (!S_ISREG(status.st_mode)) return malformed("is not a regular file");
  return InputFile(std::move(descriptor), status.st_size);
}

absl::Status InputFile::read(int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t count = pread(descriptor_.number(), target.data(), target.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot be read", errno);
    if (count == 0) {
      return absl::DataLossError(
          str_cat("ends at byte ", offset, "; it had ", size_bytes_, " bytes when it was opened"));
    }
    offset += count;
    target = target.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::StatusOr<Descriptor> InputFile::duplicate() const {
  Descriptor copy(fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) return system_error("cannot be read", errno);
  return copy;
}

absl::StatusOr<dispatch::HostData> read_elements(const Spec& spec, const ReadNext& read) {
  absl::Status status;
  dispatch::HostData data;
  try {
    data = dispatch::HostData::make(spec, [&](std::span<std::byte> target) {
      status = read(target);
      if (status.ok() && spec.dtype == DType::kBool) {
        std::ranges::transform(target, target.begin(),
                               [](std::byte value) { return std::byte{value != std::byte{0}}; });
      }
    });
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        str_cat("there is no memory for the ", spec.byte_size(), " bytes of ", spec.str()));
  }
  REMORA_RETURN_IF_ERROR(status);
  return data;
}

}  // namespace remora::io
