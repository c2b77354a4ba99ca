// Mutated frames: no crash, no hang, no effect on another session. Seeds are printed;
// REMORA_TEST_ROUNDS asks for more.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using dispatch::LiveSet;
using dispatch::OpCode;
using dispatch::ValueId;
using testing::ElementsAre;

int rounds(int usual) {
  const char* asked = std::getenv("REMORA_TEST_ROUNDS");
  return asked == nullptr ? usual : std::atoi(asked);
}

/// Records of every kind, all right.
std::string good_records() {
  wire::RecordWriter records;
  const Spec i64{DType::kI64, Shape({2})};
  const TestGraph add = one_op(OpCode::add, {f32({2}), f32({2})});
  const TestGraph gather = one_op(OpCode::gather, {f32({3}), i64}, dispatch::AxisAttrs{0});
  const TestGraph fill =
      one_op(OpCode::full, {}, dispatch::FullAttrs{DType::kF32, Shape({4, 4}), 1.0});
  records.host_data({1, 0}, 0, floats({1, 2}));
  records.host_data({2, 0}, 0, integers({0, 1}));
  records.host_data({3, 0}, 1, floats({1, 2, 3}));
  records.define(1, 0, LiveSet{true}, *add.graph);
  records.run(1, {4, {{1, 0}, {1, 0}}, {}, {false, false}});
  records.run(1, {5, {{4, 0}, {1, 0}}, {}, {true, false}});
  records.define(2, 1, LiveSet{true}, *gather.graph);
  records.once(0, LiveSet{true}, *fill.graph, {6, {}, fill.params, {}});
  records.transfer({7, 0}, {2, 0}, 1);
  records.run(2, {8, {{3, 0}, {7, 0}}, {}, {false, false}});
  records.upload({9, 0}, 0, f32({1 << 20}));
  records.read(1, {5, 0});
  records.read(2, {8, 0});
  records.sync(3, 1);
  records.drop(1, 0, 1);
  records.drop(9, 0, 1);
  records.undefine(1);
  return records.take();
}

std::string mutated(std::string bytes, std::mt19937& random) {
  const auto at = [&] { return random() % bytes.size(); };
  for (int edits = 1 + static_cast<int>(random() % 4); edits > 0 && !bytes.empty(); --edits) {
    switch (random() % 5) {
      case 0:
        bytes[at()] = static_cast<char>(random());
        break;
      case 1:
        bytes[at()] = static_cast<char>(bytes[at()] ^ (1 << (random() % 8)));
        break;
      case 2:
        bytes.insert(at(), 1, static_cast<char>(random()));
        break;
      case 3:
        bytes.erase(at(), 1 + random() % 4);
        break;
      default:
        bytes.insert(at(), bytes.substr(at(), random() % 32));
        break;
    }
  }
  return bytes;
}

class Fuzz : public testing::Test {
 protected:
  /// The worker lives and another session computes.
  void expect_undisturbed(RawSession& other) {
    const ValueId a(other.next_window(), 0);
    other.records().host_data(a, 0, floats({1, 2}));
    EXPECT_THAT(other.read_floats(a), ElementsAre(1, 2));
    other.records().drop(a.window(), 0, 1);
  }

  /// An Upload call of one message, whatever it is.
  void upload_raw(const grpc::ByteBuffer& message) {
    grpc::GenericStub stub(client_.channel());
    grpc::ClientContext context;
    client_.prepare(context);
    // A mutant that names another value waits for its announcement; the deadline is this call's
    // end.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    grpc::CompletionQueue queue;
    const auto next = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const auto call = stub.PrepareCall(&context, "/remora.v1.Worker/Upload", &queue);
    call->StartCall(nullptr);
    if (next()) {
      call->WriteLast(message, grpc::WriteOptions(), nullptr);
      next();
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    next();
  }

  WorkerProcess worker_{
      {{"--threads", "1", "--devices", "cpu,cpu", "--memory-limit", "cpu=64MiB"}}};
  RawClient client_{worker_};
};

TEST_F(Fuzz, the_good_records_are_good) {
  RawSession session(client_);
  v1::ClientFrame frame;
  frame.set_sequence(2);
  frame.set_records(good_records());
  ASSERT_TRUE(session.send_frame(frame));
  EXPECT_EQ(session.wait_for(2).status().code(), 0u);
  EXPECT_EQ(session.wait_for(3).status().code(), 0u);
  EXPECT_TRUE(session.errors().empty());
  EXPECT_TRUE(session.close().ok());
}

TEST_F(Fuzz, mutated_records_end_at_most_their_own_session) {
  const uint32_t seed = 20240229;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  RawSession other(client_);
  const std::string good = good_records();
  int refused = 0;
  for (int round = 0; round < rounds(2000); ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    RawSession session(client_);
    v1::ClientFrame frame;
    frame.set_sequence(2);
    frame.set_records(mutated(good, random));
    session.send_frame(frame);
    // The mutant may wait for an upload that never comes: a clean close ends that too.
    const grpc::Status status = session.close();
    if (!status.ok()) ++refused;
    ASSERT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE)
        << status.error_message() << worker_.log();
    if (round % 100 == 0) expect_undisturbed(other);
    ASSERT_FALSE(HasFailure());
  }
  expect_undisturbed(other);
  // Mutations that no reader notices would test nothing.
  EXPECT_GT(refused, rounds(2000) / 4);
  EXPECT_TRUE(
      client_.describe_until([](const v1::DescribeReply& reply) { return reply.sessions() == 1; }));
}

TEST_F(Fuzz, mutated_chunks_end_at_most_their_own_call) {
  const uint32_t seed = 19991231;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  RawSession session(client_);
  for (int round = 0; round < rounds(500); ++round) {
    const ValueId id(session.next_window(), 0);
    session.records().upload(id, 0, f32({25}));
    session.records().drop(id.window(), 0, 1);
    ASSERT_TRUE(session.send());
    const std::string good =
        session.chunks_of(id, std::string(100, 'x'), 100)[0].SerializeAsString();
    const grpc::Slice slice(mutated(good, random));
    upload_raw(grpc::ByteBuffer(&slice, 1));
  }
  expect_undisturbed(session);
}

}  // namespace
}  // namespace remora::test
