// A file descriptor that is closed with its owner. Moved, never copied.
#pragma once

#include <unistd.h>

#include <utility>

namespace remora::io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Gives the descriptor to somebody who closes it.
  int release() { return std::exchange(number_, -1); }
  /// False with errno set if the system reports an error of an earlier write.
  bool close() { return !is_open() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_ = -1;
};

}  // namespace remora::io
