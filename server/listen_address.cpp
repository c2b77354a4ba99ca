#include "server/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "dispatch/str_cat.h"

namespace remora::server {

bool ListenAddress::is_local() const {
  if (is_unix || host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

std::string ListenAddress::str() const {
  if (is_unix) return str_cat("unix:", path);
  if (host.find(':') != std::string::npos) return str_cat("[", host, "]:", port);
  return str_cat(host, ":", port);
}

absl::StatusOr<ListenAddress> parse_listen_address(const std::string& text) {
  ListenAddress address;
  if (absl::StartsWith(text, "unix:")) {
    address.is_unix = true;
    address.path = text.substr(5);
    if (absl::StartsWith(address.path, "///")) address.path = address.path.substr(2);
    std::error_code ignored;
    if (!address.path.empty()) address.path = std::filesystem::absolute(address.path, ignored);
    if (address.path.empty() || address.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::InvalidArgumentError(str_cat("--listen: '", text, "': a socket's path has 1 to ",
                                                sizeof(sockaddr_un::sun_path) - 1, " bytes"));
    }
    return address;
  }
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon != std::string::npos && colon > 0 && absl::SimpleAtoi(text.substr(colon + 1), &port) &&
      port <= 65535) {
    address.host = text.substr(0, colon);
    address.port = static_cast<uint16_t>(port);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
      address.host = address.host.substr(1, address.host.size() - 2);
      return address;
    }
    if (address.host.find_first_of(":/[] ") == std::string::npos) return address;
  }
  return absl::InvalidArgumentError(
      str_cat("--listen: '", text,
              "' is no address; right are host:port (127.0.0.1:7070, [::1]:0) and unix:PATH"));
}

absl::Status clear_stale_socket(const ListenAddress& address) {
  struct stat found {};
  if (!address.is_unix || lstat(address.path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISSOCK(found.st_mode)) {
    return absl::AlreadyExistsError(
        str_cat("--listen: ", address.path,
                " exists and is not a socket; remove it or choose another path"));
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return absl::InternalError(str_cat("socket: ", std::strerror(errno)));
  const absl::Cleanup close_probe = [probe] { close(probe); };
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  std::memcpy(target.sun_path, address.path.c_str(), address.path.size() + 1);
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

void remove_socket(const ListenAddress& address) {
  struct stat found {};
  if (address.is_unix && lstat(address.path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
    unlink(address.path.c_str());
  }
}

}  // namespace remora::server
