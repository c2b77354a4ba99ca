// Accepts connections, looks at their first bytes, and hands those that speak the right protocol
// on. So there is a log line for every connection and for every one that is refused, and what
// speaks no HTTP/2 or TLS never reaches gRPC. One thread, owned by this object.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "server/listen_address.h"

namespace remora::server {

class Acceptor {
 public:
  /// What a client says first.
  enum class Protocol : uint8_t { kHttp2, kTls };
  /// Takes the descriptor of a connection, which it closes. Called on the acceptor's thread.
  using Accepted = std::function<void(int listener, int connection)>;

  Acceptor(ListenSockets sockets, Protocol protocol, Accepted accepted);
  /// Closes the sockets; no call of `accepted` follows.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;

  const ListenAddress& address() const { return sockets_.address(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// A connection that has not said anything yet.
  struct Silent {
    int listener = -1;
    int connection = -1;
    std::string peer;
    Clock::time_point deadline;
  };

  void work();
  void accept_from(int listener);
  /// True once the connection is handed on or closed.
  bool look_at(const Silent& silent);
  void hand_on(const Silent& silent);
  /// Time until the next deadline, for poll.
  int patience_ms() const;

  const ListenSockets sockets_;
  const Protocol protocol_;
  const Accepted accepted_;
  int stop_ = -1;  // an eventfd, readable when the thread is to end
  // Owned by the thread.
  std::vector<Silent> silent_;
  Clock::time_point paused_until_;
  std::thread thread_;
};

}  // namespace remora::server
