#include "dispatch/worker_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <charconv>
#include <optional>

#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr size_t kMaxHostBytes = 253;  // of a DNS name

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return port;
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &address) == 1;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxHostBytes) return false;
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f || std::string_view(":/[]@").find(c) != std::string_view::npos)
      return false;
  }
  return true;
}

}  // namespace

bool WorkerAddress::is_local() const {
  if (is_unix || host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

std::string WorkerAddress::str() const {
  if (is_unix) return str_cat(kUnixPrefix, path);
  if (host.find(':') != std::string::npos) return str_cat("[", host, "]:", port);
  return str_cat(host, ":", port);
}

absl::StatusOr<WorkerAddress> parse_worker_address(std::string_view text, PortRange ports) {
  WorkerAddress address;
  if (text.starts_with(kUnixPrefix)) {
    address.is_unix = true;
    address.path = std::string(text.substr(kUnixPrefix.size()));
    // "unix:///path" is a URI's way to write it.
    if (address.path.starts_with("///")) address.path.erase(0, 2);
    if (address.path.empty() || address.path.size() > kMaxPathBytes ||
        address.path.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          str_cat("'", text, "': the path of a unix socket has 1 to ", kMaxPathBytes, " bytes"));
    }
    return address;
  }
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
    address.host = std::string(text.substr(0, colon));
    const bool bracketed =
        address.host.size() > 2 && address.host.starts_with('[') && address.host.ends_with(']');
    if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
    if (port.has_value() && (*port > 0 || ports == PortRange::kFromZero) &&
        (bracketed ? is_ipv6(address.host) : is_name(address.host))) {
      address.port = *port;
      return address;
    }
  }
  return absl::InvalidArgumentError(
      str_cat("'", text, "' is no address of a worker; right are HOST:PORT with a port from ",
              ports == PortRange::kFromZero ? "0" : "1", " to 65535, [IPv6]:PORT and unix:PATH"));
}

}  // namespace remora::dispatch
