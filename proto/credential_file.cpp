#include "proto/credential_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::wire {
namespace {

absl::Status system_error(int error) {
  const std::string text = str_cat("cannot be read: ", std::strerror(error));
  return error == EACCES || error == EPERM ? absl::PermissionDeniedError(text)
                                           : absl::NotFoundError(text);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

absl::Status check_mode(const struct stat& file) {
  const bool of_root = file.st_uid == 0 && geteuid() != 0;
  const mode_t forbidden = of_root ? (S_IWGRP | S_IXGRP | S_IRWXO) : (S_IRWXG | S_IRWXO);
  if ((file.st_mode & forbidden) == 0) return absl::OkStatus();
  char mode[8] = {};
  for (int digit = 0; digit < 4; ++digit)
    mode[digit] = static_cast<char>('0' + ((file.st_mode >> (9 - 3 * digit)) & 7));
  return absl::PermissionDeniedError(str_cat("has mode ", mode,
                                             ", so others can read or change it; right is ",
                                             of_root ? "0640" : "0600"));
}

absl::StatusOr<std::string> read_all(int file, size_t max_bytes) {
  std::string content(max_bytes + 1, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t count = read(file, content.data() + size, content.size() - size);
    if (count == 0) break;
    if (count < 0 && errno != EINTR) return system_error(errno);
    if (count > 0) size += static_cast<size_t>(count);
  }
  if (size > max_bytes) {
    return absl::InvalidArgumentError(str_cat("holds more than ", max_bytes, " bytes"));
  }
  content.resize(size);
  return content;
}

absl::StatusOr<std::string> read_file(const std::string& path, size_t max_bytes, bool is_secret) {
  // Opening a pipe for reading waits for its writer unless it is told not to.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return system_error(errno);
  const absl::Cleanup closing = [file] { close(file); };
  struct stat found {};
  if (fstat(file, &found) != 0) return system_error(errno);
  if (!S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(str_cat("is ", kind_of(found.st_mode), ", no regular file"));
  }
  if (is_secret) REMORA_RETURN_IF_ERROR(check_mode(found));
  return read_all(file, max_bytes);
}

}  // namespace

absl::StatusOr<std::string> read_credential_file(const std::string& path, size_t max_bytes) {
  return read_file(path, max_bytes, false);
}

absl::StatusOr<std::string> read_secret_file(const std::string& path, size_t max_bytes) {
  return read_file(path, max_bytes, true);
}

}  // namespace remora::wire
