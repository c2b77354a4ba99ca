#include "dispatch/value.h"

namespace remora::dispatch {

uint64_t next_window_number() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

ValueNode::~ValueNode() = default;

void ValueNode::fulfil(Buffer buffer, MemoryCharge charge) {
  if (buffer.storage != nullptr && !buffer.storage->charged()) {
    buffer.storage->hold(std::move(charge));
  } else {
    charge_ =
        std::move(charge);  // a view of a storage that is paid for costs its logical size beside it
  }
  buffer_ = std::move(buffer);
  state_.store(State::kReady, std::memory_order_release);
}

void ValueNode::poison(absl::Status error) {
  error_ = std::move(error);
  state_.store(State::kPoisoned, std::memory_order_release);
}

}  // namespace remora::dispatch
