// One client's session: its values, graphs, reads and uploads, and the strand that works through
// its frames in order. The strand is a rule, not a thread: whoever brings work (a frame, a device
// that made progress) runs it if nobody else does. Knows nothing of gRPC; a SessionStream carries
// its frames.
//
// A frame is worked on until the session has enough waiting (windows, bytes in flight, unsent
// replies) and goes on when its devices have caught up; only then is the next frame read. Errors of
// records poison values and never end the session; a stream that cannot be followed does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/executor.h"
#include "proto/limits.h"
#include "proto/records.h"
#include "remora/v1/worker.pb.h"
#include "server/graph_table.h"
#include "server/identity.h"
#include "server/read_table.h"
#include "server/reply_queue.h"
#include "server/upload_table.h"
#include "server/value_table.h"

namespace remora::server {

/// What carries a session's frames. Called from any thread, without a lock of the session.
class SessionStream {
 public:
  virtual ~SessionStream() = default;
  /// Replies wait: take them with `Session::next_reply`.
  virtual void replies_wait() = 0;
  /// The last frame has been worked through: bring the next.
  virtual void read_next_frame() = 0;
  /// The session is over.
  virtual void close(const absl::Status& status) = 0;
};

class Session;

/// How long a session lives on without a sign of its client. Zero: for ever.
struct SessionTimeouts {
  std::chrono::milliseconds hello{wire::kControlDeadline_ms};  // from its start to its first frame
  std::chrono::milliseconds idle{0};   // no frame, no reply and no progress of its devices
  std::chrono::milliseconds reply{0};  // the client does not take a reply
};

/// What a session gets from its worker.
struct SessionSettings {
  uint64_t number = 0;  // for logs and errors
  std::string name;     // random; names the session on the bulk plane; never logged
  std::string peer;     // for logs
  std::string instance;
  int64_t quota_bytes = 0;
  SessionTimeouts timeouts;
  std::shared_ptr<Identity> identity;  // whose session it is
  std::function<void()> ended;         // called once, when all is let go
  /// Calls `Session::advance` soon, on a thread that is no executor's.
  std::function<void(std::weak_ptr<Session>)> resume;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionSettings settings, std::weak_ptr<SessionStream> stream);
  ~Session();
  Session(const Session&) = delete;

  // Called by the stream.

  /// The next frame. Requires that the one before has been worked through.
  void frame_arrived(std::unique_ptr<v1::ClientFrame> frame);
  bool next_reply(v1::WorkerFrame& frame);
  /// A reply has left the worker.
  void reply_written();
  /// Ends the session, once: what is queued is dropped and everything it holds is let go.
  void end(const absl::Status& reason);

  /// Goes on with a frame that had to wait, unless somebody is at it.
  void advance();
  /// Something happened that a frame which had to wait may have waited for.
  void made_progress();
  /// Ends the session if its client has given no sign for too long.
  void end_if_overdue(std::chrono::steady_clock::time_point now);

  // Called by the bulk plane.

  UploadTable& uploads() { return uploads_; }
  ReadTable& reads() { return reads_; }

  const std::string& name() const { return settings_.name; }
  uint64_t number() const { return settings_.number; }
  const Identity& identity() const { return *settings_.identity; }

 private:
  /// This session's part of one device. Owned by the strand.
  struct Lane {
    const ServedDevice* device = nullptr;
    dispatch::Executor::QueuePtr queue;
    size_t unmarked_windows = 0;
    int64_t unmarked_bytes = 0;
    bool touched = false;
  };
  enum class Outcome : uint8_t { kDone, kLater };

  // The strand.
  void step();
  void work_on_frame();
  bool next_record();
  absl::Status open_frame();
  absl::Status greet(const v1::Hello& hello);
  bool must_wait() const;
  void fail(const absl::Status& status);
  void let_go();
  void push(uint32_t device, dispatch::Task task);
  void mark(Lane& lane);
  void kick();

  // Records; session_records.cpp. kLater: the record is to be tried again when devices have made
  // progress.
  Outcome handle(const wire::DefineRecord& record);
  Outcome handle(const wire::UndefineRecord& record);
  Outcome handle(const wire::RunRecord& record);
  Outcome handle(const wire::OnceRecord& record);
  Outcome handle(const wire::HostDataRecord& record);
  Outcome handle(const wire::UploadRecord& record);
  Outcome handle(const wire::DropRecord& record);
  Outcome handle(const wire::ReadRecord& record);
  Outcome handle(const wire::SyncRecord& record);
  Outcome handle(const wire::TransferRecord& record);
  void run(const DefinedGraph& defined, const wire::RunBindings& bindings);
  absl::Status bind(const DefinedGraph& defined, const wire::RunBindings& bindings,
                    std::vector<dispatch::Value>& inputs) const;
  void issue(const DefinedGraph& defined, const wire::RunBindings& bindings,
             std::vector<dispatch::Value> inputs);
  void poison_outputs(const DefinedGraph& defined, uint64_t window, const absl::Status& status);
  /// Checks a value that arrives from the host or another device. If it cannot come, says so to the
  /// client, poisons its id where that is free, and gives the reason.
  absl::Status check_arrival(std::string_view what, dispatch::ValueId id, uint32_t device,
                             const Spec& spec);
  /// Counts bytes on their way to a device. False if they have to wait for others to land.
  bool take_in_flight(int64_t bytes);

  /// Brings `source`, which is settled or given up, to the device of `value`.
  void copy(const dispatch::Value& source, const dispatch::Value& value, uint32_t device);
  void finish_copy(const dispatch::Value& value, uint32_t device,
                   absl::StatusOr<dispatch::Buffer> buffer, dispatch::MemoryCharge charge);

  // Called by executors; session_replies.cpp.
  /// `asked_bytes` were set apart for the answer.
  void answer(uint64_t number, size_t asked_bytes, const dispatch::Value& value,
              absl::StatusOr<dispatch::HostData> data);
  void answer_status(uint64_t number, const absl::Status& status);
  void report(std::string_view op, uint64_t window, uint32_t op_index, uint32_t device,
              const absl::Status& status);
  void windows_done(size_t windows, int64_t bytes);
  void bytes_landed(int64_t bytes);
  void notify_replies();
  void note_activity();
  std::string label() const;

  const SessionSettings settings_;
  const std::weak_ptr<SessionStream> stream_;
  const std::shared_ptr<dispatch::MemoryAccount> account_;

  // Thread-safe.
  ReplyQueue replies_;
  ReadTable reads_;
  UploadTable uploads_;

  std::atomic<uint64_t> visits_{0};  // of the strand: who makes it 1 runs it until it is 0 again
  std::atomic<size_t> waiting_windows_{0};
  std::atomic<int64_t> waiting_bytes_{0};
  std::atomic<int64_t> in_flight_bytes_{0};
  std::atomic<size_t> asked_bytes_{0};  // of inline answers that devices have yet to give
  std::atomic<bool> blocked_{
      false};  // the strand has stopped in a frame and wants to hear of progress
  std::atomic<bool> ended_{false};
  // Milliseconds of the steady clock.
  std::atomic<int64_t> active_at_ms_;
  std::atomic<int64_t> writing_since_ms_{0};  // 0: no reply is being written
  std::atomic<bool> greeted_{false};

  absl::Mutex mutex_;  // guards what other threads hand to the strand
  std::unique_ptr<v1::ClientFrame> arrived_ ABSL_GUARDED_BY(mutex_);
  absl::Status end_reason_ ABSL_GUARDED_BY(mutex_);

  // Owned by the strand.
  std::vector<Lane> lanes_;  // by device
  ValueTable values_;
  GraphTable graphs_;
  wire::StreamMemory memory_;
  std::unique_ptr<v1::ClientFrame> frame_;  // records of reader_ and record_ point into it
  std::optional<wire::RecordReader> reader_;
  std::optional<wire::Record> record_;
  uint64_t sequence_ = 0;  // last frame
  std::string client_;     // what it calls itself
  bool let_go_ = false;
};

}  // namespace remora::server
