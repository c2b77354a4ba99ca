// A session: the ordered op stream between this process and one worker, shared by all threads and
// all devices of that worker. What is recorded here is encoded at once and leaves in numbered
// frames; answers come back in any order. Once the stream has died, every open and every later call
// answers with the reason.
//
// Threads: every function may be called by any thread. One mutex guards the encoder and the frame
// being built; no callback and no foreign code runs under it. Lives: held by its connection, by the
// storages on it and by its bulk calls; the connection lets go last and never in a gRPC callback,
// where closing a channel would deadlock.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "client/remote/call_table.h"
#include "client/remote/description.h"
#include "client/remote/storage.h"
#include "dispatch/backend.h"
#include "dispatch/fork_guard.h"
#include "proto/records.h"
#include "remora/v1/worker.grpc.pb.h"

namespace remora::remote {

class BulkCall;

/// A worker's two connections and how to use them.
struct WorkerLink {
  std::string address;
  std::shared_ptr<grpc::Channel> control;
  std::shared_ptr<grpc::Channel> bulk;
  Token token;
  std::optional<std::string> certificate = {};  // this program's, may be empty; none: plain text
  int deadline_ms = 0;
};

/// A prepared graph's place in a session's table. Owned by the plan; used by one thread at a time.
struct GraphSlot {
  uint64_t number = 0;  // 0: not defined yet
  bool used = false;
};

class Session final : public std::enable_shared_from_this<Session>,
                      private grpc::ClientBidiReactor<v1::ClientFrame, v1::WorkerFrame> {
  struct Passkey {};

 public:
  Session(Passkey, WorkerLink link, WorkerDescriptionPtr description);
  ~Session() override;

  /// A session that `start` opens. Must be kept until `done()`.
  static std::shared_ptr<Session> make(WorkerLink link, WorkerDescriptionPtr description);
  /// Opens the stream and waits for the worker's welcome, at most the link's deadline. Called once.
  absl::Status start();

  const WorkerDescription& description() const { return *description_; }
  const WorkerDescriptionPtr& description_ptr() const { return description_; }
  const WorkerLink& link() const { return link_; }
  /// OK, or why nothing can be recorded any more; FAILED_PRECONDITION in a forked child.
  absl::Status status() const;
  /// True in a process forked from the one that opened this session.
  static bool in_child() { return dispatch::in_forked_child(); }
  /// FAILED_PRECONDITION in such a process, naming the worker.
  static absl::Status child_status(std::string_view address);

  /// Encodes a run of `graph` on `device`: a first use of a window that ended by a cut as a
  /// single-use window, else a definition where there is none yet and a run of it. Waits while too
  /// much is unacknowledged.
  absl::Status run(GraphSlot& slot, uint32_t device, const dispatch::Graph& graph,
                   const dispatch::LiveSet& live, std::span<RemoteStorage* const> inputs,
                   const dispatch::RunRequest& request);
  /// Announces `data` as value `id` and sends it on the bulk plane.
  absl::Status upload(dispatch::ValueId id, uint32_t device, dispatch::HostData data);
  /// Encodes a copy of `source` on another device of the worker.
  absl::Status transfer(RemoteStorage& source, dispatch::ValueId id, uint32_t device);
  struct Read {
    RemoteStorage* source;
    Spec spec;  // the source's
    dispatch::ReadCallback done;
  };
  /// Asks for values and sends the frame: one round trip, however many they are.
  void read(std::vector<Read> reads);
  /// Sends everything recorded so far.
  void flush();
  /// Sends everything and waits until the device has executed it.
  absl::Status synchronize(uint32_t device);
  void undefine(uint64_t graph);

  dispatch::WireStats stats() const;
  /// Logical bytes of the values this process holds on a device.
  int64_t live_bytes(uint32_t device) const;

  /// Ends the session; `reason` answers whatever is still open. Waits up to `deadline_ms` for the
  /// worker to agree and then cancels.
  void close(const absl::Status& reason, int deadline_ms);
  /// True once gRPC has let go of this object.
  bool done() const;

  /// For ~RemoteStorage.
  void drop(RemoteStorage& storage);

  // For bulk calls.
  const std::string& session_id() const { return session_id_; }
  /// Counts one message of the bulk plane.
  void count_bulk(size_t bytes_sent, size_t bytes_received);
  /// Takes the call out of the session's list, and starts an upload that waited for it; the caller
  /// destroys it.
  std::unique_ptr<BulkCall> forget(BulkCall* call);
  /// Ends the session because of what only this side has seen.
  void fail(const absl::Status& reason);

 private:
  struct OpenRead {
    dispatch::ReadCallback done;
    Spec spec;
    bool is_sync = false;
  };
  struct Frame {
    uint64_t sequence = 0;
    std::string records;
  };
  struct Answer {
    OpenRead read;
    v1::ReadReply reply;
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  absl::Status child_error() const { return child_status(link_.address); }
  /// Waits until less is unacknowledged than the limit.
  absl::Status wait_for_room() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Waits for the condition or the end of the session; not at all in a callback of gRPC.
  void wait_until(absl::FunctionRef<bool()> has_room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Begins a new frame unless a record of `bytes`, a run with so many bindings, fits the present
  /// one.
  void make_room(size_t bytes, size_t bindings = 0) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Sends the storage's host data first, if it still waits. What is no longer needed goes to
  /// `spent`, which must die without the lock.
  void announce(RemoteStorage& storage, std::vector<dispatch::HostData>& spent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void encode_run(GraphSlot& slot, uint32_t device, const dispatch::Graph& graph,
                  const dispatch::LiveSet& live, const wire::RunBindings& bindings,
                  bool ended_by_cut) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void encode_drops() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Closes the frame being built.
  void seal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Starts the next write, if one is due and none is in flight.
  void pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ack_is_due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void start_write(Frame frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status accept(const v1::WorkerFrame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Nothing is recorded or sent any more. The caller answers `orphans` with status(), without the
  /// lock.
  void die(absl::Status reason, std::vector<OpenRead>& orphans)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void answer(Answer answer);
  void start_download(uint64_t number, OpenRead read);
  /// The status of an answer, naming the worker.
  absl::Status named(const v1::Status& status) const;
  bool is_dead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !status_.ok(); }

  const WorkerLink link_;
  const WorkerDescriptionPtr description_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  grpc::ClientContext context_;
  CallTable calls_;         // with a lock of its own, a leaf
  std::string session_id_;  // written by the welcome, constant once `start` has returned

  mutable absl::Mutex mutex_;  // guards all below
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  wire::RecordWriter writer_ ABSL_GUARDED_BY(mutex_);
  std::vector<dispatch::ValueId> drops_ ABSL_GUARDED_BY(mutex_);
  int64_t drop_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<uint64_t> undefines_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> live_bytes_ ABSL_GUARDED_BY(mutex_);  // by device
  uint64_t graphs_ ABSL_GUARDED_BY(mutex_) = 0;              // numbers given so far
  uint64_t numbers_ ABSL_GUARDED_BY(mutex_) = 0;             // of reads and syncs

  bool send_wanted_ ABSL_GUARDED_BY(mutex_) = false;  // somebody asked for the frame being built
  std::deque<Frame> sealed_ ABSL_GUARDED_BY(mutex_);  // bounded with unacked_
  std::deque<std::pair<uint64_t, size_t>> unacked_ ABSL_GUARDED_BY(mutex_);  // sequence, bytes
  size_t unacked_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;  // last given
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;  // the worker's side has ended: no write may start
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writes_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  v1::ClientFrame outgoing_;  // owned by gRPC while writing_, else guarded by mutex_

  v1::WorkerFrame incoming_;                       // owned by gRPC between StartRead and OnReadDone
  uint64_t received_ ABSL_GUARDED_BY(mutex_) = 0;  // last frame of the worker
  uint64_t acked_ ABSL_GUARDED_BY(mutex_) = 0;     // what the worker was told of that
  size_t received_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last ack
  bool welcomed_ ABSL_GUARDED_BY(mutex_) = false;

  absl::flat_hash_map<uint64_t, OpenRead> reads_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<BulkCall*, std::unique_ptr<BulkCall>> bulk_calls_ ABSL_GUARDED_BY(mutex_);
  size_t downloads_ ABSL_GUARDED_BY(mutex_) = 0;  // of bulk_calls_
  size_t uploads_ ABSL_GUARDED_BY(mutex_) = 0;    // of bulk_calls_, those that wait included
  std::deque<BulkCall*> waiting_uploads_ ABSL_GUARDED_BY(mutex_);  // in bulk_calls_, not started
  dispatch::WireStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace remora::remote
