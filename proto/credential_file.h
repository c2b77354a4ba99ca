// Files with credentials, as worker and client read them: tokens, keys, certificates. Only regular
// files of a bounded size are read, so that no path can hang or exhaust whoever names it. Pure
// functions of the file system.
//
// Messages are made to follow the option and the path: "--tls-key 'key.pem' " and then what is
// wrong.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace remora::wire {

/// The content of a file that anybody may read. NOT_FOUND or PERMISSION_DENIED where it cannot be
/// read, INVALID_ARGUMENT for a folder, a pipe, or more than `max_bytes`.
absl::StatusOr<std::string> read_credential_file(const std::string& path, size_t max_bytes);

/// The content of a file that holds a secret. Besides, PERMISSION_DENIED where others can read it:
/// right is 0600 of this user, or 0640 where it belongs to root and this user is of its group.
absl::StatusOr<std::string> read_secret_file(const std::string& path, size_t max_bytes);

}  // namespace remora::wire
