#include "server/acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "dispatch/str_cat.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {
namespace {

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kTlsHandshake = 0x16;

std::string peer_of(int connection) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "unknown";
  if (peer.ss_family == AF_UNIX) {
    ucred who{};
    socklen_t length = sizeof who;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return "unix";
    return str_cat("unix process ", who.pid, " of user ", who.uid);
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  const bool v6 = std::string_view(host.data()).find(':') != std::string_view::npos;
  return str_cat(v6 ? "[" : "", host.data(), v6 ? "]:" : ":", port.data());
}

std::string escaped(std::string_view bytes) {
  return absl::CHexEscape({bytes.data(), bytes.size()});
}

/// Why bytes that a client says first are not what `protocol` begins with; empty if they may be.
std::string wrong_beginning(std::string_view bytes, Acceptor::Protocol protocol) {
  if (protocol == Acceptor::Protocol::kTls) {
    if (bytes.front() == kTlsHandshake) return "";
    return str_cat("it does not speak TLS, which this worker asks for; it began with '",
                   escaped(bytes), "'");
  }
  if (kHttp2Preface.substr(0, bytes.size()) == bytes) return "";
  if (bytes.front() == kTlsHandshake) {
    return "it speaks TLS and this worker has no --tls-cert";
  }
  return str_cat("it does not speak HTTP/2; it began with '", escaped(bytes), "'");
}

}  // namespace

Acceptor::Acceptor(ListenSockets sockets, Protocol protocol, Accepted accepted)
    : sockets_(std::move(sockets)),
      protocol_(protocol),
      accepted_(std::move(accepted)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  thread_ = std::thread([this] { work(); });
}

Acceptor::~Acceptor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof(one));
  thread_.join();
  for (const Silent& each : silent_) close(each.connection);
  close(stop_);
}

void Acceptor::work() {
  std::vector<pollfd> waited;
  for (;;) {
    const bool accepts = Clock::now() >= paused_until_;
    waited.assign(1, {stop_, POLLIN, 0});
    for (const int socket : sockets_.sockets())
      waited.push_back({accepts ? socket : -1, POLLIN, 0});
    for (const Silent& each : silent_) waited.push_back({each.connection, POLLIN, 0});
    if (poll(waited.data(), waited.size(), patience_ms()) < 0 && errno != EINTR) {
      spdlog::critical("no connection is accepted any more: poll: {}", std::strerror(errno));
      return;
    }
    if (waited.front().revents != 0) return;
    std::erase_if(silent_, [this](const Silent& each) { return look_at(each); });
    for (size_t i = 0; i < sockets_.sockets().size(); ++i) {
      if (waited[i + 1].revents != 0) accept_from(waited[i + 1].fd);
    }
  }
}

int Acceptor::patience_ms() const {
  Clock::time_point next = Clock::time_point::max();
  if (const auto now = Clock::now(); now < paused_until_) next = paused_until_;
  for (const Silent& each : silent_) next = std::min(next, each.deadline);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count() + 1, 0));
}

void Acceptor::accept_from(int listener) {
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      spdlog::warn("a connection waits: {}", std::strerror(errno));
      paused_until_ = Clock::now() + std::chrono::milliseconds(kAcceptPause_ms);
    }
    return;
  }
  Silent made{listener, connection, peer_of(connection),
              Clock::now() + std::chrono::milliseconds(kFirstBytesDeadline_ms)};
  if (look_at(made)) return;
  if (silent_.size() >= kMaxSilentConnections) {
    // Those that come to say something say it at once, so they find room.
    spdlog::warn("connection from {} refused: it said nothing while {} others waited",
                 silent_.front().peer, kMaxSilentConnections);
    close(silent_.front().connection);
    silent_.erase(silent_.begin());
  }
  silent_.push_back(std::move(made));
}

bool Acceptor::look_at(const Silent& silent) {
  std::array<char, kHttp2Preface.size()> bytes;
  const ssize_t count =
      recv(silent.connection, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    if (Clock::now() < silent.deadline) return false;
    spdlog::warn("connection from {} refused: it said nothing for {} ms", silent.peer,
                 kFirstBytesDeadline_ms);
  } else if (count <= 0) {
    // A probe that only asks whether somebody listens.
    spdlog::debug("connection from {} closed by the peer before it said anything", silent.peer);
  } else if (const std::string wrong =
                 wrong_beginning({bytes.data(), static_cast<size_t>(count)}, protocol_);
             !wrong.empty()) {
    spdlog::warn("connection from {} refused: {}", silent.peer, wrong);
  } else {
    hand_on(silent);
    return true;
  }
  close(silent.connection);
  return true;
}

void Acceptor::hand_on(const Silent& silent) {
  spdlog::info("connection from {}", silent.peer);
  if (!address().is_unix) {
    const int on = 1;
    setsockopt(silent.connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  accepted_(silent.listener, silent.connection);
}

}  // namespace remora::server
