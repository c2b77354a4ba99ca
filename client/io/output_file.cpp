#include "client/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <random>

#include "absl/strings/str_format.h"
#include "client/io/file_error.h"
#include "dispatch/error.h"

namespace remora::io {

namespace {

constexpr int kMaxNameAttempts = 16;

constexpr int kMaxLinks = 40;  // as the kernel has it

/// The path that a chain of symbolic links ends at, whose file need not exist.
std::filesystem::path end_of_links(std::filesystem::path path) {
  std::error_code error;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    path = path.parent_path() / target;  // an absolute target stands for itself
  }
  return path;
}

/// The path with symbolic links resolved; an error if there is something that is no file.
absl::StatusOr<std::filesystem::path> file_to_replace(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return end_of_links(path);
  if (error) return system_error("cannot be written", error.value());
  if (!std::filesystem::is_regular_file(status)) return malformed("is not a regular file");
  std::filesystem::path resolved = std::filesystem::canonical(path, error);
  if (error) return system_error("cannot be written", error.value());
  return resolved;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, std::filesystem::path temporary,
                       Descriptor descriptor)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(std::move(descriptor)) {}

absl::StatusOr<OutputFile> OutputFile::create(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(std::filesystem::path target, file_to_replace(path));
  std::random_device random;
  for (int attempt = 0; attempt < kMaxNameAttempts; ++attempt) {
    const std::string name = absl::StrFormat(".remora-%08x%08x.tmp", random(), random());
    std::filesystem::path temporary = target.parent_path() / name;
    Descriptor descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (descriptor.is_open()) {
      return OutputFile(std::move(target), std::move(temporary), std::move(descriptor));
    }
    if (errno != EEXIST) break;
  }
  return system_error("a file beside it cannot be created", errno);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::move(other.descriptor_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot be written", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

absl::Status OutputFile::commit() {
  if (!descriptor_.close()) return system_error("cannot be written", errno);
  const Descriptor written(::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!written.is_open()) return system_error("cannot be written", errno);
  struct stat old = {};
  if (stat(path_.c_str(), &old) == 0 && fchmod(written.number(), old.st_mode & 07777) != 0) {
    return system_error("the old file's mode cannot be kept", errno);
  }
  if (fsync(written.number()) != 0) return system_error("cannot be written", errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return system_error("cannot be replaced", errno);
  }
  temporary_.clear();
  // The name reaches the disk with its folder. A folder that cannot be opened for this (it may be
  // writable but not readable) takes nothing from the file itself.
  const std::filesystem::path folder = path_.parent_path();
  const Descriptor names(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (names.is_open() && fsync(names.number()) != 0 && errno == EIO) {
    return system_error("its folder cannot be written", errno);
  }
  return absl::OkStatus();
}

}  // namespace remora::io
