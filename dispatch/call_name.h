// The public function that a thread is in, for errors: what is composed of several operations is
// refused, or fails when it runs, in one of them, but the program should read what it called.
// Threads: each has its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace remora::dispatch {

/// By op of a window: the function that recorded it, or nothing. The text lives forever.
using CallNames = std::vector<std::string_view>;

/// Names the enclosing function, unless one further out is named already. A CallScope holds one; a
/// function that reads, and so cannot be a CallScope, has one of its own.
class CallName {
 public:
  /// The function's own name unless given; nothing for a name that says nothing. A name given is
  /// text that lives forever.
  explicit CallName(std::string_view function = __builtin_FUNCTION()) {
    if (!current_.empty() || function == "operator()" || function == "forward") return;
    current_ = function;
    is_outermost_ = true;
  }
  ~CallName() {
    if (is_outermost_) current_ = {};
  }
  CallName(const CallName&) = delete;

  /// The outermost named function of this thread, or nothing.
  static std::string_view current() { return current_; }

 private:
  constinit static inline thread_local std::string_view current_{};
  bool is_outermost_ = false;
};

/// `status` as an error of a function: its name in front, unless the message begins with it.
absl::Status in_call(std::string_view function, const absl::Status& status);
/// Of this thread's outermost named function.
inline absl::Status in_call(const absl::Status& status) {
  return in_call(CallName::current(), status);
}

/// The op that an error comes from, for who knows the names of its window's ops.
struct ErrorOrigin {
  uint64_t window = 0;
  uint32_t op_index = 0;
  bool operator==(const ErrorOrigin&) const = default;
};
/// `status` with its origin, unless it has one.
absl::Status with_origin(absl::Status status, const ErrorOrigin& origin);
std::optional<ErrorOrigin> origin_of(const absl::Status& status);

}  // namespace remora::dispatch
