#include "client/remote/dial.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::remote {
namespace {

absl::Status system_error(int error) { return absl::UnavailableError(std::strerror(error)); }

/// False if the socket cannot be written to before the deadline.
bool wait_for_writing(int fd, int deadline_ms) {
  const absl::Time deadline = absl::Now() + absl::Milliseconds(deadline_ms);
  for (;;) {
    const auto left_ms = static_cast<int>(absl::ToInt64Milliseconds(deadline - absl::Now()));
    pollfd waited{fd, POLLOUT, 0};
    const int ready = poll(&waited, 1, std::max(left_ms, 0));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

absl::StatusOr<Socket> connect_to(const sockaddr* address, socklen_t length, int family,
                                  int deadline_ms) {
  Socket made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.fd() < 0) return system_error(errno);
  if (connect(made.fd(), address, length) != 0) {
    if (errno != EINPROGRESS) return system_error(errno);
    if (!wait_for_writing(made.fd(), deadline_ms)) {
      return absl::UnavailableError(str_cat("no answer within ", deadline_ms, " ms"));
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(made.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return system_error(error);
  }
  fcntl(made.fd(), F_SETFL, fcntl(made.fd(), F_GETFL) & ~O_NONBLOCK);
  const timeval patience{deadline_ms / 1000, deadline_ms % 1000 * 1000};
  setsockopt(made.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(made.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return made;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<Socket> dial(const dispatch::WorkerAddress& address, int deadline_ms) {
  if (address.is_unix) {
    sockaddr_un target{};
    target.sun_family = AF_UNIX;
    std::memcpy(target.sun_path, address.path.data(), address.path.size());  // parsed: it fits
    return connect_to(reinterpret_cast<const sockaddr*>(&target), sizeof target, AF_UNIX,
                      deadline_ms);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) return absl::NotFoundError(gai_strerror(error));
  const absl::Cleanup freeing = [found] { freeaddrinfo(found); };
  absl::Status last = absl::NotFoundError("the name has no address");
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    absl::StatusOr<Socket> made =
        connect_to(each->ai_addr, each->ai_addrlen, each->ai_family, deadline_ms);
    if (made.ok()) return made;
    last = made.status();
  }
  return last;
}

}  // namespace remora::remote
