#include "server/reply_queue.h"

#include <utility>

#include "dispatch/call_name.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {

v1::Status wire_status(const absl::Status& status) {
  v1::Status out;
  out.set_code(static_cast<uint32_t>(status.code()));
  std::string message(status.message());
  if (message.size() > kMaxStatusMessageBytes) {
    message.resize(kMaxStatusMessageBytes);
    message += "...";
  }
  out.set_message(std::move(message));
  if (const auto origin = dispatch::origin_of(status)) {
    out.set_window(origin->window);
    out.set_op_index(origin->op_index);
  }
  return out;
}

void ReplyQueue::add_welcome(v1::Welcome welcome) {
  const absl::MutexLock lock(&mutex_);
  welcome_.push_back(std::move(welcome));
}

void ReplyQueue::add_read(v1::ReadReply reply) {
  const size_t bytes = reply.ByteSizeLong();
  const absl::MutexLock lock(&mutex_);
  waiting_bytes_ += bytes;
  reads_.push_back(std::move(reply));
}

void ReplyQueue::add_error(v1::OpError error) {
  const size_t bytes = error.ByteSizeLong();
  const absl::MutexLock lock(&mutex_);
  if (errors_.size() >= kMaxWaitingErrors) return;
  waiting_bytes_ += bytes;
  errors_.push_back(std::move(error));
}

void ReplyQueue::frame_arrived(uint64_t sequence, size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  received_ = sequence;
  unacked_bytes_ += bytes;
}

bool ReplyQueue::ack_is_due() const {
  return received_ - acked_ >= wire::kAckFrames || unacked_bytes_ >= wire::kAckBytes;
}

bool ReplyQueue::take(v1::WorkerFrame& frame) {
  frame.Clear();
  const absl::MutexLock lock(&mutex_);
  const bool has_replies = !welcome_.empty() || !reads_.empty() || !errors_.empty();
  if (!has_replies && !ack_is_due()) return false;
  if (!welcome_.empty()) {
    *frame.mutable_welcome() = std::move(welcome_.front());
    welcome_.pop_front();
  }
  // Errors first: who reads a poisoned tensor has then heard of the op that failed.
  size_t bytes = 0;
  while (!errors_.empty() && bytes < kReplyFrameBytes) {
    bytes += errors_.front().ByteSizeLong();
    *frame.add_errors() = std::move(errors_.front());
    errors_.pop_front();
  }
  while (!reads_.empty() && bytes < kReplyFrameBytes) {
    bytes += reads_.front().ByteSizeLong();
    *frame.add_reads() = std::move(reads_.front());
    reads_.pop_front();
  }
  waiting_bytes_ -= bytes;
  if (has_replies) frame.set_sequence(++sequence_);
  frame.set_ack(received_);
  acked_ = received_;
  unacked_bytes_ = 0;
  return true;
}

uint64_t ReplyQueue::last_sequence() const {
  const absl::MutexLock lock(&mutex_);
  return sequence_;
}

size_t ReplyQueue::waiting_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return waiting_bytes_;
}

}  // namespace remora::server
