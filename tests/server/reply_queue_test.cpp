#include "server/reply_queue.h"

#include "gtest/gtest.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {
namespace {

v1::ReadReply reply(uint64_t number, size_t bytes) {
  v1::ReadReply out;
  out.set_number(number);
  out.set_data(std::string(bytes, 'x'));
  return out;
}

TEST(ReplyQueue, nothing_waits_at_first) {
  ReplyQueue queue;
  v1::WorkerFrame frame;
  EXPECT_FALSE(queue.take(frame));
}

TEST(ReplyQueue, an_ack_alone_waits_for_frames_or_bytes_and_has_no_number) {
  ReplyQueue queue;
  v1::WorkerFrame frame;
  queue.frame_arrived(1, 10);
  EXPECT_FALSE(queue.take(frame));
  queue.frame_arrived(wire::kAckFrames, 10);
  ASSERT_TRUE(queue.take(frame));
  EXPECT_EQ(frame.sequence(), 0u);
  EXPECT_EQ(frame.ack(), wire::kAckFrames);
  EXPECT_FALSE(queue.take(frame));
  queue.frame_arrived(wire::kAckFrames + 1, wire::kAckBytes);
  ASSERT_TRUE(queue.take(frame));
  EXPECT_EQ(frame.ack(), wire::kAckFrames + 1);
}

TEST(ReplyQueue, an_ack_rides_on_any_reply) {
  ReplyQueue queue;
  v1::WorkerFrame frame;
  queue.frame_arrived(3, 10);
  queue.add_read(reply(1, 4));
  ASSERT_TRUE(queue.take(frame));
  EXPECT_EQ(frame.sequence(), 1u);
  EXPECT_EQ(frame.ack(), 3u);
}

TEST(ReplyQueue, replies_are_gathered_up_to_a_frames_size) {
  ReplyQueue queue;
  const size_t count = 3 * kReplyFrameBytes / wire::kMaxInlineBytes;
  for (size_t i = 0; i < count; ++i) queue.add_read(reply(i, wire::kMaxInlineBytes));
  EXPECT_GE(queue.waiting_bytes(), 3 * kReplyFrameBytes);
  v1::WorkerFrame frame;
  uint64_t next = 0;
  uint64_t frames = 0;
  while (queue.take(frame)) {
    EXPECT_EQ(frame.sequence(), ++frames);
    EXPECT_LE(frame.ByteSizeLong(), wire::kMaxFrameBytes);
    for (const v1::ReadReply& read : frame.reads()) EXPECT_EQ(read.number(), next++);
  }
  EXPECT_EQ(next, count);
  EXPECT_LE(frames, 4u);
  EXPECT_EQ(queue.waiting_bytes(), 0u);
  EXPECT_EQ(queue.last_sequence(), frames);
}

TEST(ReplyQueue, errors_that_wait_are_bounded) {
  ReplyQueue queue;
  for (size_t i = 0; i < 2 * kMaxWaitingErrors; ++i) queue.add_error(v1::OpError());
  size_t count = 0;
  v1::WorkerFrame frame;
  while (queue.take(frame)) count += static_cast<size_t>(frame.errors_size());
  EXPECT_EQ(count, kMaxWaitingErrors);
}

TEST(ReplyQueue, long_messages_are_cut) {
  const v1::Status status = wire_status(absl::InternalError(std::string(1 << 20, 'm')));
  EXPECT_EQ(status.code(), static_cast<uint32_t>(absl::StatusCode::kInternal));
  EXPECT_LE(status.message().size(), kMaxStatusMessageBytes + 3);
}

}  // namespace
}  // namespace remora::server
