// The public function that this thread is in, for errors: what is composed of several operations is
// refused by one of them, but the program should read what it called. Threads: each has its own.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {

/// Names the enclosing function, unless one further out is named already. A CallScope holds one; a
/// function that reads, and so cannot be a CallScope, has one of its own.
class CallName {
 public:
  /// The function's own name unless given; nothing for a name that says nothing.
  explicit CallName(std::string_view function = __builtin_FUNCTION()) {
    if (!current_.empty() || function == "operator()" || function == "forward") return;
    current_ = function;
    is_outermost_ = true;
  }
  ~CallName() {
    if (is_outermost_) current_ = {};
  }
  CallName(const CallName&) = delete;

  /// `status` as an error of the outermost named function: its name in front, unless the message
  /// begins with it.
  static absl::Status of(const absl::Status& status) {
    const std::string_view message(status.message().data(), status.message().size());
    const size_t size = current_.size();
    const bool says_so = message.substr(0, size) == current_ && message.substr(size, 1) == ":";
    if (status.ok() || current_.empty() || says_so) return status;
    return {status.code(), str_cat(current_, ": ", message)};
  }

 private:
  constinit static inline thread_local std::string_view current_{};
  bool is_outermost_ = false;
};

}  // namespace remora::dispatch
