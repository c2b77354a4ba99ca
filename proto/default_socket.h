// The unix socket on which worker and program of one machine find each other when neither is told
// an address. Pure functions of the environment and the file system.
#pragma once

#include <optional>
#include <string>

namespace remora::wire {

/// Where a worker listens: remora.sock in the folder that systemd made for the service
/// ($RUNTIME_DIRECTORY), else in $XDG_RUNTIME_DIR/remora, else, for root, in /run/remora, else in
/// /tmp/remora-UID.
std::string default_socket_path();

/// The socket of a worker that a program uses when it is told none: the first that is there and
/// that this user may open, of $XDG_RUNTIME_DIR/remora, /run/remora and /tmp/remora-UID.
std::optional<std::string> find_default_socket();

/// False for the socket in /tmp/remora-UID where that folder is not this user's alone: somebody
/// else could have made it.
bool is_trusted_socket(const std::string& path);

}  // namespace remora::wire
