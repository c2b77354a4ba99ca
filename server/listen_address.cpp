#include "server/listen_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/default_socket.h"
#include "server/limits.h"

namespace remora::server {
namespace {

/// Why an address cannot be listened on.
absl::Status cannot_listen(const ListenAddress& address, int error) {
  return absl::UnavailableError(
      str_cat("--listen: ", address.str(), " cannot be listened on: ", std::strerror(error)));
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  std::memcpy(target.sun_path, path.data(), path.size());  // parsed: it fits
  return target;
}

/// Removes a socket file that nobody listens on. ALREADY_EXISTS if somebody does or the file is
/// something else.
absl::Status clear_stale_socket(const ListenAddress& address) {
  struct stat found {};
  if (lstat(address.path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISSOCK(found.st_mode)) {
    return absl::AlreadyExistsError(
        str_cat("--listen: ", address.path,
                " exists and is not a socket; remove it or choose another path"));
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return cannot_listen(address, errno);
  const absl::Cleanup close_probe = [probe] { close(probe); };
  const sockaddr_un target = unix_address(address.path);
  if (connect(probe, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) == 0) {
    return absl::AlreadyExistsError(str_cat("--listen: another process listens on ", address.str(),
                                            "; stop it or choose another path"));
  }
  if (errno != ECONNREFUSED) {
    return absl::AlreadyExistsError(
        str_cat("--listen: ", address.path, " exists and cannot be connected to (",
                std::strerror(errno), "); remove it or choose another path"));
  }
  unlink(address.path.c_str());
  return absl::OkStatus();
}

/// One listening socket of a resolved address, whose port becomes `port` unless that is 0; or an
/// errno, negated.
int listen_on(const addrinfo& found, uint16_t port) {
  const int made = socket(found.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -errno;
  sockaddr_storage target{};
  std::memcpy(&target, found.ai_addr, found.ai_addrlen);
  // The port lies at the same place in both families.
  if (port != 0) reinterpret_cast<sockaddr_in&>(target).sin_port = htons(port);
  const int on = 1;
  const int off = 0;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // "::" stands for every address of the machine, those of IPv4 included.
  if (found.ai_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(made, reinterpret_cast<const sockaddr*>(&target), found.ai_addrlen) != 0 ||
      listen(made, kListenBacklog) != 0) {
    const int error = errno;
    close(made);
    return -error;
  }
  return made;
}

uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

}  // namespace

absl::StatusOr<ListenAddress> parse_listen_address(const std::string& text) {
  absl::StatusOr<ListenAddress> address =
      dispatch::parse_worker_address(text, dispatch::PortRange::kFromZero);
  if (address.ok() && address->is_unix) {
    std::error_code ignored;
    address = dispatch::parse_worker_address(
        str_cat("unix:", std::filesystem::absolute(address->path, ignored).string()));
  }
  if (address.ok()) return address;
  return absl::Status(address.status().code(),
                      str_cat("--listen: ", std::string(address.status().message())));
}

absl::StatusOr<ListenSockets> ListenSockets::open(const ListenAddress& address) {
  ListenSockets made(address);
  REMORA_RETURN_IF_ERROR(address.is_unix ? made.open_unix() : made.open_tcp());
  return made;
}

ListenSockets::~ListenSockets() {
  if (!sockets_.empty() && address_.is_unix) unlink(address_.path.c_str());
  for (const int each : sockets_) close(each);
}

absl::Status ListenSockets::open_unix() {
  // Fails where it is there already or its parent is missing; then `bind` says so.
  mkdir(std::filesystem::path(address_.path).parent_path().c_str(), 0700);
  if (!wire::is_trusted_socket(address_.path)) {
    return absl::PermissionDeniedError(
        str_cat("--listen: ", address_.path,
                ": its folder is not this user's alone (mode 0700), so others could replace the "
                "socket; remove it or choose another path"));
  }
  REMORA_RETURN_IF_ERROR(clear_stale_socket(address_));
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return cannot_listen(address_, errno);
  const sockaddr_un target = unix_address(address_.path);
  if (bind(made, reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0) {
    const int error = errno;
    close(made);
    return cannot_listen(address_, error);
  }
  sockets_.push_back(made);
  // Nobody can connect before `listen`, whatever the mode was until here.
  if (chmod(address_.path.c_str(), 0600) != 0 || listen(made, kListenBacklog) != 0) {
    return cannot_listen(address_, errno);
  }
  return absl::OkStatus();
}

absl::Status ListenSockets::open_tcp() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        str_cat("--listen: ", address_.str(), " does not resolve: ", gai_strerror(error)));
  }
  const absl::Cleanup freeing = [found] { freeaddrinfo(found); };
  int last_error = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int made = listen_on(*each, address_.port);
    if (made >= 0) {
      sockets_.push_back(made);
      address_.port = port_of(made);
      continue;
    }
    last_error = -made;
    // A name may have addresses of a family that this machine has not.
    if (last_error != EAFNOSUPPORT && last_error != EADDRNOTAVAIL) break;
  }
  const bool skipped = last_error == EAFNOSUPPORT || last_error == EADDRNOTAVAIL;
  if (!sockets_.empty() && skipped) return absl::OkStatus();
  return cannot_listen(address_, last_error);
}

}  // namespace remora::server
